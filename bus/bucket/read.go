package bucket

import (
	"context"
	"encoding/json"
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
// leader's reply is not: a leader that was partitioned or suspended considers itself
// the leader for seconds after another one was elected. So a message, the fence, is
// written first, which only the current leader can acknowledge; then any replica that
// has applied the fence may reply. Concurrent readers share the next fence.
type Reader struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	name   string // name of the stream
	fences string // subject of the fence
	copies bool   // more than one replica when the bucket was opened
	fence  *round
}

// NewReader returns a Reader of the named bucket with the stream s.
func NewReader(js jetstream.JetStream, name string, s jetstream.Stream) *Reader {
	return &Reader{
		js: js, stream: s, name: stream(name), fences: SubjectPrefix + name + "." + fenceKey,
		copies: s.CachedInfo().Config.Replicas > 1, fence: newRound(),
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
		if err != nil {
			return nil, err
		}
		if seen >= least && msg == nil {
			return nil, jetstream.ErrMsgNotFound
		}
		if seen >= least {
			return msg, nil
		}
		select { // this replica has not applied the fence yet, another may have
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// alone reports whether the stream has one replica, on a stand-alone server.
func (r *Reader) alone() bool { return !r.copies && !clustered(r.js) }

// Fence returns a sequence of the stream that is not before any write that was
// acknowledged before the call. Calls at the same time share one request to the
// server, whose cost does not depend on the contents of the stream.
func (r *Reader) Fence(ctx context.Context) (uint64, error) {
	operation := r.publish
	if r.alone() {
		operation = r.State
	}
	seq, err := r.fence.do(ctx, operation)
	if err != nil {
		return 0, fmt.Errorf("write a fence: %w", err)
	}
	return seq, nil
}

// publish stores a fence and returns its sequence.
func (r *Reader) publish(ctx context.Context) (uint64, error) {
	ack, err := r.js.Publish(ctx, r.fences, nil)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// State returns the last sequence of the stream, 0 when it is empty, as the
// server reports it that considers itself the leader. It reads no message.
func (r *Reader) State(ctx context.Context) (uint64, error) {
	info, err := r.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the state of %s: %w", r.name, err)
	}
	if info.State.Msgs == 0 {
		return 0, nil
	}
	return info.State.LastSeq, nil
}

// copy returns the newest message of the subject at any replica, nil if there is none,
// and the replica's applied sequence. Both are of the same moment (nats-server,
// stream.go, getDirectMulti).
func (r *Reader) copy(ctx context.Context, subject string) (msg *jetstream.RawStreamMsg, seen uint64, err error) {
	request, err := json.Marshal(map[string]any{"multi_last": []string{subject, r.fences}})
	if err != nil {
		return nil, 0, err
	}
	inbox := r.js.Conn().NewInbox()
	sub, err := r.js.Conn().SubscribeSync(inbox)
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
				msg, err = raw(part)
			}
			if err != nil {
				return nil, 0, err
			}
		case "204":
			seen, err = strconv.ParseUint(part.Header.Get("Nats-UpTo-Sequence"), 10, 64)
			return msg, seen, err
		case "404": // this replica has no message, not even the fence
			return nil, 0, nil
		default:
			return nil, 0, fmt.Errorf("read %s: %s %s", subject, status, part.Header.Get("Description"))
		}
	}
}

func raw(m *nats.Msg) (*jetstream.RawStreamMsg, error) {
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read a sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return nil, fmt.Errorf("read a time: %w", err)
	}
	return &jetstream.RawStreamMsg{Subject: m.Header.Get(jetstream.SubjectHeader), Sequence: seq, Header: m.Header, Data: m.Data,
		Time: at}, nil
}

// Leader returns the newest message of the subject, which may have wildcards, from the
// server that considers itself the leader; or [jetstream.ErrMsgNotFound].
func (r *Reader) Leader(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	request, err := json.Marshal(map[string]string{"last_by_subj": subject})
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
	m := &jetstream.RawStreamMsg{Subject: answer.Message.Subject, Sequence: answer.Message.Sequence, Data: answer.Message.Data,
		Time: answer.Message.Time}
	if len(answer.Message.Header) > 0 {
		m.Header, err = nats.DecodeHeadersMsg(answer.Message.Header)
	}
	return m, err
}
