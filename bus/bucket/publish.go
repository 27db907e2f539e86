package bucket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// HeaderRoom is the part of max_payload that is reserved for headers, in bytes.
	HeaderRoom = 4 << 10
	// attemptTimeout is the time without a reply after which a request is retried: the server that
	// received it may have failed, or may no longer be the leader.
	attemptTimeout = time.Second
	// maxAttemptTimeout bounds the timeout of an attempt, which doubles after each timeout. A request with a deadline of
	// 15 seconds has at least three attempts: a leader drops its pending requests when it steps down.
	maxAttemptTimeout = 4 * attemptTimeout
	// duplicateWindow is the time for which a stream rejects duplicates of a message. It is longer than
	// the deadline of any request and most suspensions of a worker, after which the worker may perform an
	// earlier copy of a request that was retried. The server has 113 bytes in memory for each ID.
	duplicateWindow = 2 * time.Minute
)

type requestKey struct{}

// WithRequest returns ctx for the writes of a request that may be retried with the same ID. If a
// write of the request to a subject was stored within duplicateWindow, another one returns its
// sequence.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// WithPart returns ctx for part n of a request that may write to a subject more than once.
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
	timeout, started := attemptTimeout, time.Now()
	err = retryUnready(ctx, func() error {
		seq, err = attempt(ctx, js, msg, timeout)
		timeout = nextTimeout(timeout, err)
		if errors.Is(err, jetstream.ErrNoStreamResponse) && !clustered(js) && time.Since(started) > attemptTimeout {
			err = errStoreFailed // a server disables JetStream when its disk is full
		}
		return err
	})
	return seq, err
}

// errStoreFailed is the error of a stand-alone server that does not store messages, although the connection exists.
var errStoreFailed = &jetstream.APIError{
	Code: 503, ErrorCode: storeFailed, Description: "the disk of the NATS server may be full",
}

// Range are the messages of a subject up to the sequence Last.
type Range struct {
	Subject string
	Last    uint64
}

// Purge removes messages of the named bucket, and returns how many there were: 0 if the reply to an earlier
// attempt was lost. It retries until the server acknowledges it or ctx ends. Later messages of the subject
// stay. The server stores a tombstone for each message that it removes, so a crash does not revive it.
func Purge(ctx context.Context, js jetstream.JetStream, name string, messages Range) (purged int, err error) {
	// strings and integers can be encoded
	request, _ := json.Marshal(map[string]any{"filter": messages.Subject, "seq": messages.Last + 1})
	prefix := strings.TrimSuffix(cmp.Or(js.Options().APIPrefix, jetstream.DefaultAPIPrefix), ".")
	subject := prefix + ".STREAM.PURGE." + StreamPrefix + name
	timeout := attemptTimeout
	err = retryUnready(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		reply, err := js.Conn().RequestWithContext(ctx, subject, request)
		if err != nil {
			timeout = nextTimeout(timeout, err)
			return err
		}
		var answer struct {
			Error  *jetstream.APIError `json:"error"`
			Purged int                 `json:"purged"`
		}
		if err := json.Unmarshal(reply.Data, &answer); err != nil {
			return fmt.Errorf("read the reply to a purge: %w", err)
		}
		if answer.Error != nil {
			if answer.Error.Code == 500 { // it could not store a tombstone
				answer.Error.ErrorCode = storeFailed
			}
			return answer.Error
		}
		purged = answer.Purged
		return nil
	})
	return purged, err
}

// nextTimeout returns the timeout of the attempt after one that had this timeout and error.
func nextTimeout(timeout time.Duration, err error) time.Duration {
	if timedOut(err) {
		return min(2*timeout, maxAttemptTimeout)
	}
	return timeout
}

// retryUnready retries do while the cluster has no leader or a replica is behind, until ctx ends.
func retryUnready(ctx context.Context, do func() error) error {
	return retry.Do(ctx, func(err error) bool {
		if refused, ok := errors.AsType[*jetstream.APIError](err); ok {
			return refused.Code == 503 && !Full(err) || refused.ErrorCode == duplicateInProcess
		}
		return errors.Is(err, errStale) || NoReply(err)
	}, do)
}

// MessageID returns the Nats-Msg-Id of the message, and sets one if it has none. The ID of a request
// (WithRequest) is combined with the subject, so that its client cannot suppress writes to other
// subjects.
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

// attempt sends the message once, and returns its sequence. A stand-alone server whose disk is full does not reply to
// it, but it still replies to a message that follows and that it refuses because of its expected sequence. Then the
// error is errStoreFailed.
func attempt(ctx context.Context, js jetstream.JetStream, msg *nats.Msg, timeout time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var skipped atomic.Bool
	reconnects := js.Conn().Stats().Reconnects
	if !clustered(js) {
		defer time.AfterFunc(timeout/2, func() {
			next := nats.NewMsg(msg.Subject)
			next.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.Itoa(math.MaxInt64))
			_, err := js.PublishMsg(ctx, next, jetstream.WithRetryAttempts(0))
			// on the same connection, the server has read the earlier message before
			skipped.Store(Outdated(err) && js.Conn().Stats().Reconnects == reconnects)
		}).Stop()
	}
	ack, err := js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	switch {
	case err == nil:
		return ack.Sequence, nil
	case timedOut(err) && skipped.Load():
		err = errStoreFailed
	}
	return 0, err
}

// duplicateInProcess is the error code for a duplicate of a message that is not stored yet
// (nats-server, JSStreamDuplicateMessageConflict).
const duplicateInProcess = 10158

// NoReply reports whether err means that no server has replied.
func NoReply(err error) bool {
	return timedOut(err) || slices.ContainsFunc([]error{nats.ErrNoResponders, jetstream.ErrNoStreamResponse,
		nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting},
		func(cause error) bool { return errors.Is(err, cause) })
}

// timedOut reports whether err means that there was no reply in time.
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

const replyMargin = time.Second // part of a request's timeout that is reserved for the reply

// WithReplyMargin calls do, an operation on the named store, such as "tag store", with a deadline that is
// earlier than that of ctx by replyMargin, or by a quarter of the remaining time if that is less. It
// returns schemas.ErrUnavailable if the store is full or does not reply in time. A write may then
// have been applied.
func WithReplyMargin(ctx context.Context, store string, do func(context.Context) error) error {
	limited := ctx
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, end.Add(-min(replyMargin, time.Until(end)/4)))
		defer cancel()
	}
	err := do(limited)
	// The timeouts of a shared fence and of a publish attempt may expire before the deadline.
	late := limited.Err() != nil || timedOut(err)
	if err != nil && late && ctx.Err() == nil {
		return fmt.Errorf("%w: %w",
			schemas.ErrUnavailable.Because(
				"NATS did not acknowledge the operation in time: its cluster may have no quorum or be electing a leader, "+
					"or the disk of a server is full"), err)
	}
	return refused(err, store)
}
