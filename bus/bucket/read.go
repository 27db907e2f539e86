package bucket

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// Reader reads the newest message of a subject of a bucket. A read includes every write
// that was acknowledged before it. A Reader may be used concurrently.
//
// A stand-alone server has the only copy, and its reply is current. In a cluster the
// leader's reply may be stale: a leader that was partitioned or suspended considers itself
// the leader for seconds after another one was elected. So the Reader first writes a
// message, the fence. Only the current leader can acknowledge it; then any replica that
// has applied the fence may reply. Concurrent readers share the next fence.
type Reader struct {
	js         jetstream.JetStream
	stream     jetstream.Stream
	leaders    nats.JetStreamContext
	name       string // name of the stream
	fences     string // subject of the fence
	replicated bool   // more than one replica when the bucket was opened
	fence      *coalescer
}

// NewReader returns a Reader of the named bucket with the stream s.
func NewReader(js jetstream.JetStream, name string, s jetstream.Stream) *Reader {
	leaders, _ := js.Conn().JetStream() // fails for invalid options
	return &Reader{
		js: js, stream: s, leaders: leaders, name: StreamPrefix + name, fences: SubjectPrefix + name + "." + fenceKey,
		replicated: s.CachedInfo().Config.Replicas > 1, fence: newCoalescer(),
	}
}

const fenceKey = "=fence" // keys of records are base64 or consist of several tokens

// Last returns the newest message of the subject, or [jetstream.ErrMsgNotFound].
func (r *Reader) Last(ctx context.Context, subject string) (msg *jetstream.RawStreamMsg, err error) {
	if r.standalone() {
		return r.leader(ctx, subject)
	}
	minSeq, err := r.Fence(ctx)
	if err != nil {
		return nil, err
	}
	err = retryUnready(ctx, func() error {
		if r.standalone() { // it has reconnected, and the fence may be absent
			msg, err = r.leader(ctx, subject)
		} else {
			msg, err = r.copy(ctx, subject, minSeq)
		}
		return err
	})
	return msg, err
}

// standalone reports whether the stream has one replica, on a stand-alone server.
func (r *Reader) standalone() bool { return !r.replicated && !clustered(r.js) }

// Fence returns a sequence of the stream at or after every write that was acknowledged
// before the call. Calls at the same time share one request to the server, whose cost
// does not depend on the contents of the stream.
func (r *Reader) Fence(ctx context.Context) (seq uint64, err error) {
	operation := r.State
	if !r.standalone() {
		operation = func(ctx context.Context) (uint64, error) {
			return attempt(ctx, r.js, nats.NewMsg(r.fences), attemptTimeout)
		}
	}
	err = retryUnready(ctx, func() error {
		seq, err = r.fence.do(ctx, operation)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("write a fence: %w", err)
	}
	return seq, nil
}

// State returns the sequence of the last message of the stream, which may have expired, or 0 if
// there was none. The server that considers itself the leader reports it. State reads no message.
func (r *Reader) State(ctx context.Context) (uint64, error) {
	info, err := r.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the state of %s: %w", r.name, err)
	}
	return info.State.LastSeq, nil
}

// End returns a sequence that every consumer of the stream receives, at or after all
// messages that were acknowledged before the call; 0 if there were none. It writes the
// fence if the last message has expired.
func (r *Reader) End(ctx context.Context) (uint64, error) {
	last, err := r.State(ctx)
	if err != nil || last == 0 {
		return last, err
	}
	switch _, err = r.stream.GetMsg(ctx, last); {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return attempt(ctx, r.js, nats.NewMsg(r.fences), attemptTimeout)
	case err != nil:
		return 0, fmt.Errorf("read the last message of %s: %w", r.name, err)
	}
	return last, nil
}

// WriteFence stores a fence in the named bucket.
func WriteFence(ctx context.Context, js jetstream.JetStream, name string) error {
	_, err := Publish(ctx, js, nats.NewMsg(SubjectPrefix+name+"."+fenceKey))
	return err
}

var errStale = errors.New("the replica is behind") // another replica may have applied the fence

// copy returns the newest message of the subject from any replica that has applied the fence at
// the sequence minSeq. The replica reads message and fence atomically (nats-server, stream.go,
// getDirectMulti).
func (r *Reader) copy(ctx context.Context, subject string, minSeq uint64) (msg *jetstream.RawStreamMsg, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	list, err := Collect(jetstreamext.GetLastMsgsFor(ctx, r.js, r.name, []string{subject, r.fences}))
	if err != nil {
		return nil, err
	}
	var fence *jetstream.RawStreamMsg
	for _, m := range list {
		if m.Subject == subject {
			msg = m
		} else {
			fence = m
		}
	}
	switch {
	case ctx.Err() != nil: // Collect returns no error then
		return nil, ctx.Err()
	case fence == nil || fence.Sequence < minSeq:
		return nil, errStale
	case msg == nil || expired(msg, fence):
		return nil, jetstream.ErrMsgNotFound
	}
	return msg, nil
}

// Collect returns the messages of a batch of package jetstreamext, possibly none. If the context of
// the request has ended, messages may be missing without an error.
func Collect(batch iter.Seq2[*jetstream.RawStreamMsg, error], err error) (list []*jetstream.RawStreamMsg, _ error) {
	if err != nil {
		return nil, err
	}
	for msg, err := range batch {
		switch {
		case errors.Is(err, jetstreamext.ErrNoMessages):
			return nil, nil
		case err != nil:
			return nil, err
		}
		list = append(list, msg)
	}
	return list, nil
}

// expired reports whether the fence was stored after the deadline of the message, each by
// the clock of the leader.
func expired(msg, fence *jetstream.RawStreamMsg) bool {
	ttl, err := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader))
	return err == nil && ttl > 0 && !fence.Time.Before(msg.Time.Add(ttl))
}

// leader returns the newest message of the subject, which may have wildcards, from the server that
// considers itself the leader, or [jetstream.ErrMsgNotFound]. It does not use package jetstream,
// whose direct get may be answered by a mirror of the stream.
func (r *Reader) leader(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	msg, err := r.leaders.GetLastMsg(r.name, subject, nats.Context(ctx))
	if errors.Is(err, nats.ErrMsgNotFound) {
		return nil, jetstream.ErrMsgNotFound
	}
	if refused, ok := errors.AsType[*nats.APIError](err); ok {
		return nil, &jetstream.APIError{Code: refused.Code, ErrorCode: jetstream.ErrorCode(refused.ErrorCode),
			Description: refused.Description}
	}
	return (*jetstream.RawStreamMsg)(msg), err
}
