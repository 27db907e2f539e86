package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const (
	// attemptTimeout is the time without an answer after which a request is retried: the
	// server that received it may have lost its leadership or its host.
	attemptTimeout = time.Second
	// duplicateWindow is the time for which a stream recognizes a repeated message. It is
	// longer than the deadline of any request.
	duplicateWindow = 30 * time.Second
)

// Publish stores the message and returns its sequence. It retries until the message
// is acknowledged or ctx ends, so that a leader election delays a write instead of failing it.
// The stream stores the message once: Publish gives it a Nats-Msg-Id, unless it has one.
// An error returned by the server means that the message was not stored.
func Publish(ctx context.Context, js jetstream.JetStream, msg *nats.Msg) (uint64, error) {
	Identified(msg)
	for timeout := attemptTimeout; ; timeout *= 2 {
		seq, err := attempt(ctx, js, msg, timeout)
		if err == nil || !repeatable(ctx, err) {
			return seq, err
		}
		if !wait(ctx, retryInterval) {
			return 0, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// wait waits for d and reports whether ctx has not ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Identified gives the message a Nats-Msg-Id, unless it has one.
func Identified(msg *nats.Msg) {
	if msg.Header.Get(jetstream.MsgIDHeader) == "" {
		msg.Header.Set(jetstream.MsgIDHeader, nuid.Next())
	}
}

// attempt sends the message once.
func attempt(ctx context.Context, js jetstream.JetStream, msg *nats.Msg, timeout time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, err := js.Conn().RequestMsgWithContext(ctx, msg)
	if err != nil {
		return 0, err
	}
	var ack struct { // jetstream.PubAck has fields that need more time to decode
		Error    *jetstream.APIError `json:"error"`
		Sequence uint64              `json:"seq"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return 0, fmt.Errorf("decode the acknowledgement: %w", err)
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	return ack.Sequence, nil
}

// duplicateInProcess is the error code for a message whose first copy is not stored yet
// (nats-server, JSStreamDuplicateMessageConflict).
const duplicateInProcess = 10158

// repeatable reports whether a later attempt may succeed, and ctx has not ended.
func repeatable(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return refused.Code == 503 && !Full(err) || refused.ErrorCode == duplicateInProcess
	}
	return isNoReply(err)
}

// isNoReply reports whether err means that no server has replied.
func isNoReply(err error) bool {
	for _, known := range []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, jetstream.ErrNoStreamResponse,
		nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
