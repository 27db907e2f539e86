package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/schemas"
)

const (
	// recallBatch is how many messages are read at a time.
	recallBatch = 64
	// recallTime bounds the reading of a batch.
	recallTime = 5 * time.Second
)

// recall reads what is kept of a run.
type recall struct {
	conn   *Conn
	stream string // of JetStream
	run    string // the subject on which it is spoken to
	at     uint64 // where to read on, in the stream; 0: all is read
	batch  []*nats.Msg
	frames []byte // of a message, not yet read
	newest uint64 // sequence of the last event there
	done   bool   // it is the last there will be
}

func (s Stream[Req]) recall(c *Conn, run string) *recall {
	return &recall{conn: c, stream: s.kept(), run: run}
}

// rewind has all be read once more.
func (r *recall) rewind() { r.at, r.batch, r.frames = 1, nil, nil }

// next is the next event that is kept; false after the last.
func (r *recall) next(ctx context.Context) (e Event, ok bool, err error) {
	for len(r.frames) == 0 {
		if len(r.batch) == 0 && r.at > 0 {
			if err := r.fetch(ctx); err != nil {
				return Event{}, false, err
			}
		}
		if len(r.batch) == 0 {
			return Event{}, false, nil
		}
		r.frames, r.batch = r.batch[0].Data, r.batch[1:]
	}
	e, r.frames, ok = readFrame(r.frames)
	r.newest = max(r.newest, e.Sequence)
	r.done = r.done || e.Type == schemas.EventDone
	return e, ok, nil
}

// fetch reads a batch: a Direct Get of several messages (NATS, ADR-31), for
// which the client library has no call.
func (r *recall) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recallTime)
	defer cancel()
	nc := r.conn.Reader().nc
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return transportError(r.run, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	ask := fmt.Sprintf(`{"seq":%d,"next_by_subj":%q,"batch":%d}`, r.at, r.run+keptToken, recallBatch)
	if err := nc.PublishRequest("$JS.API.DIRECT.GET."+r.stream, sub.Subject, []byte(ask)); err != nil {
		return transportError(r.run, err)
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrNoResponders) {
			return schemas.ErrUnavailable.Because("no stream retains the events of runs: run cairn setup")
		}
		if err != nil {
			return transportError(r.run, err)
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			r.batch = append(r.batch, msg)
		case "204", "404": // after the last of the batch; there is none
			return r.advance()
		default:
			return fmt.Errorf("JetStream: status %s %s", status, msg.Header.Get("Description"))
		}
	}
}

// advance is past the batch: at an end when nothing follows it.
func (r *recall) advance() (err error) {
	if len(r.batch) == 0 {
		r.at = 0
		return nil
	}
	last := r.batch[len(r.batch)-1].Header
	if last.Get("Nats-Num-Pending") == "0" {
		r.at = 0
		return nil
	}
	r.at, err = strconv.ParseUint(last.Get(jetstream.SequenceHeader), 10, 64)
	r.at++
	return err
}
