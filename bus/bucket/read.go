package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
	name       string // name of the stream
	fences     string // subject of the fence
	replicated bool   // more than one replica when the bucket was opened
	fence      *round
}

// NewReader returns a Reader of the named bucket with the stream s.
func NewReader(js jetstream.JetStream, name string, s jetstream.Stream) *Reader {
	return &Reader{
		js: js, stream: s, name: stream(name), fences: SubjectPrefix + name + "." + fenceKey,
		replicated: s.CachedInfo().Config.Replicas > 1, fence: newRound(),
	}
}

// fenceKey is a key that no writer uses: neither base64 nor several tokens.
const fenceKey = "=fence"

// Last returns the newest message of the subject, or [jetstream.ErrMsgNotFound].
func (r *Reader) Last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if r.alone() {
		return r.Leader(ctx, subject)
	}
	least, err := r.Fence(ctx)
	if err != nil {
		return nil, err
	}
	for {
		msg, seen, err := r.copy(ctx, subject)
		pause := time.Millisecond // this replica has not applied the fence yet, another may have
		switch {
		case err != nil && repeatable(ctx, err):
			pause = retryInterval
		case err != nil:
			return nil, err
		case seen >= least && msg == nil:
			return nil, jetstream.ErrMsgNotFound
		case seen >= least:
			return msg, nil
		}
		if !wait(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// alone reports whether the stream has one replica, on a stand-alone server.
func (r *Reader) alone() bool { return !r.replicated && !clustered(r.js) }

// Fence returns a sequence of the stream at or after every write that was acknowledged
// before the call. Calls at the same time share one request to the server, whose cost
// does not depend on the contents of the stream.
func (r *Reader) Fence(ctx context.Context) (uint64, error) {
	operation := r.State
	if !r.alone() {
		operation = func(ctx context.Context) (uint64, error) {
			return attempt(ctx, r.js, nats.NewMsg(r.fences), attemptTimeout)
		}
	}
	for {
		seq, err := r.fence.do(ctx, operation)
		if err == nil {
			return seq, nil
		}
		if !repeatable(ctx, err) {
			return 0, fmt.Errorf("write a fence: %w", err)
		}
		if !wait(ctx, retryInterval) {
			return 0, fmt.Errorf("write a fence: %w: %w", ctx.Err(), err)
		}
	}
}

// State returns the sequence of the last message of the stream, which may have expired, 0
// if there was none, as reported by the server that considers itself the leader. It reads
// no message.
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

// copy returns the newest message of the subject at any replica, nil if there is none,
// and the replica's applied sequence. Both are read atomically (nats-server, stream.go,
// getDirectMulti). [jetstreamext.GetLastMsgsFor] drops the last message of the reply, whose header has
// that sequence.
func (r *Reader) copy(ctx context.Context, subject string) (msg *jetstream.RawStreamMsg, seen uint64, err error) {
	var fence *jetstream.RawStreamMsg
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	request, err := json.Marshal(map[string]any{"multi_last": []string{subject, r.fences}})
	if err != nil {
		return nil, 0, err
	}
	inbox := r.js.Conn().NewInbox()
	sub, err := r.js.Conn().ChanSubscribe(inbox, make(chan *nats.Msg, 4)) // the channel of SubscribeSync takes half a megabyte
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails on a closed connection, which has no subscriptions
	if err := r.js.Conn().PublishRequest("$JS.API.DIRECT.GET."+r.name, inbox, request); err != nil {
		return nil, 0, err
	}
	for {
		part, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, 0, err
		}
		switch status := part.Header.Get("Status"); status {
		case "":
			if part.Header.Get(jetstream.SubjectHeader) == subject {
				msg, err = Raw(part)
			} else {
				fence, err = Raw(part)
			}
			if err != nil {
				return nil, 0, err
			}
		case "204":
			seen, err = strconv.ParseUint(part.Header.Get("Nats-UpTo-Sequence"), 10, 64)
			if expired(msg, fence) {
				msg = nil
			}
			return msg, seen, err
		case "404": // this replica has no message, not even the fence
			return nil, 0, nil
		case "503":
			return nil, 0, nats.ErrNoResponders
		default:
			return nil, 0, fmt.Errorf("read %s: %s %s", subject, status, part.Header.Get("Description"))
		}
	}
}

// expired reports whether the fence was stored after the deadline of the message, each by
// the clock of the leader.
func expired(msg, fence *jetstream.RawStreamMsg) bool {
	if msg == nil || fence == nil {
		return false
	}
	ttl, err := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader))
	return err == nil && ttl > 0 && !fence.Time.Before(msg.Time.Add(ttl))
}

// Raw returns the message in a reply to a direct get.
func Raw(m *nats.Msg) (*jetstream.RawStreamMsg, error) {
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("parse the sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return nil, fmt.Errorf("parse the time: %w", err)
	}
	return &jetstream.RawStreamMsg{
		Subject:  m.Header.Get(jetstream.SubjectHeader),
		Sequence: seq,
		Header:   m.Header,
		Data:     m.Data,
		Time:     at,
	}, nil
}

// Leader returns the newest message of the subject, which may have wildcards, from the
// server that considers itself the leader; or [jetstream.ErrMsgNotFound]. A direct get would
// cost less, but mirrors of the stream answer it too.
func (r *Reader) Leader(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	request, err := json.Marshal(struct {
		Subject string `json:"last_by_subj"`
	}{subject})
	if err != nil {
		return nil, err
	}
	reply, err := r.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+r.name, request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return nil, jetstream.ErrMsgNotFound
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	m := &jetstream.RawStreamMsg{
		Subject:  answer.Message.Subject,
		Sequence: answer.Message.Sequence,
		Data:     answer.Message.Data,
		Time:     answer.Message.Time,
	}
	if len(answer.Message.Header) > 0 {
		m.Header, err = nats.DecodeHeadersMsg(answer.Message.Header)
	}
	return m, err
}
