package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// attemptTimeout is the time without an answer after which a request is retried: the
	// server that received it may have lost its leadership or its host.
	attemptTimeout = time.Second
	// duplicateWindow is the time for which a stream recognizes a repeated message. It is
	// longer than the deadline of any request.
	duplicateWindow = 30 * time.Second
)

type requestKey struct{}

// WithRequest returns ctx for the writes of a request that may be sent again with the same ID: a
// write to a subject that is stored already, within duplicateWindow, returns its sequence.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// WithPart returns ctx for the part with the number n of a request that may write a subject twice.
func WithPart(ctx context.Context, n int) context.Context {
	if id, ok := ctx.Value(requestKey{}).(string); ok {
		return WithRequest(ctx, id+" "+strconv.Itoa(n))
	}
	return ctx
}

// Publish stores the message and returns its sequence. It retries until the message
// is acknowledged or ctx ends, so that a leader election delays a write instead of failing it.
// The stream stores the message once: Publish gives it a Nats-Msg-Id, unless it has one.
// An error returned by the server means that the message was not stored, except that an
// earlier attempt may have stored it if the expected sequence is outdated ([Outdated]).
func Publish(ctx context.Context, js jetstream.JetStream, msg *nats.Msg) (seq uint64, err error) {
	MessageID(ctx, msg)
	timeout := attemptTimeout
	err = retryUnready(ctx, func() error {
		seq, err = attempt(ctx, js, msg, timeout)
		timeout *= 2
		return err
	})
	return seq, err
}

// retryUnready repeats do while a cluster has no leader and until ctx ends.
func retryUnready(ctx context.Context, do func() error) error {
	return retry.Do(ctx, func(err error) bool { return repeatable(ctx, err) }, do)
}

// MessageID returns the Nats-Msg-Id of the message, and sets one if it has none. That of a request
// (WithRequest) is valid for the subject only, so that its client cannot suppress other writes.
func MessageID(ctx context.Context, msg *nats.Msg) string {
	if id := msg.Header.Get(jetstream.MsgIDHeader); id != "" {
		return id
	}
	id := nuid.Next()
	if request, ok := ctx.Value(requestKey{}).(string); ok {
		sum := sha256.Sum256([]byte(msg.Subject + " " + request))
		id = base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	msg.Header.Set(jetstream.MsgIDHeader, id)
	return id
}

func attempt(ctx context.Context, js jetstream.JetStream, msg *nats.Msg, timeout time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ack, err := js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, err
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
	return errors.Is(err, errStale) || NoReply(err)
}

// NoReply reports whether err means that no server has replied.
func NoReply(err error) bool {
	for _, known := range []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, jetstream.ErrNoStreamResponse,
		nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// timedOut reports whether err is that of a request without a reply in time.
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// replyTime is the part of a request's timeout that is left to reply.
const replyTime = time.Second

// Bounded returns the result of do on the named store, such as "tag store". do ends a
// second before the deadline of ctx, or after three quarters of a short one. Bounded
// returns schemas.ErrUnavailable if the store is full or does not answer until then; a
// write may have been applied in that case.
func Bounded(ctx context.Context, store string, do func(context.Context) error) error {
	limited := ctx
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, end.Add(-min(replyTime, time.Until(end)/4)))
		defer cancel()
	}
	err := do(limited)
	// A shared fence and a publish attempt have their own timeouts, which may expire
	// before this one.
	late := limited.Err() != nil || timedOut(err)
	if err != nil && late && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", schemas.ErrUnavailable.Because("NATS did not acknowledge the operation in time: its cluster may have no quorum or be electing a leader"), err)
	}
	return refused(err, store)
}
