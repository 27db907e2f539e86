package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	// fetchBatch is the maximum number of messages in a batch.
	fetchBatch = 64
	// fetchTimeout bounds the reading of a batch.
	fetchTimeout = 5 * time.Second
)

// replay reads the stored events of a run.
type replay struct {
	conn   *Conn
	stream string // name in JetStream
	run    string // control subject
	at     uint64 // next sequence to read; 0: at the end
	batch  []*nats.Msg
	frames []byte // unread events of the current message
	newest uint64 // highest event sequence read
	done   bool   // the done event was read
}

func (s Stream[Req]) newReplay(c *Conn, run string) *replay {
	return &replay{conn: c, stream: s.replayStream(), run: run}
}

// rewind restarts the replay from the beginning.
func (r *replay) rewind() { r.at, r.batch, r.frames = 1, nil, nil }

// next returns the next stored event; false at the end.
func (r *replay) next(ctx context.Context) (e Event, ok bool, err error) {
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

// fetch reads a batch with a multi-message Direct Get (NATS ADR-31), which the client
// library does not offer.
func (r *replay) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	nc := r.conn.Reader().nc
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return transportError(r.run, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	ask := fmt.Sprintf(`{"seq":%d,"next_by_subj":%q,"batch":%d}`, r.at, r.run+replayToken, fetchBatch)
	if err := nc.PublishRequest("$JS.API.DIRECT.GET."+r.stream, sub.Subject, []byte(ask)); err != nil {
		return transportError(r.run, err)
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrNoResponders) {
			return schemas.ErrUnavailable.Because("no replay stream for runs: run cairn setup")
		}
		if err != nil {
			return transportError(r.run, err)
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			r.batch = append(r.batch, msg)
		case "204", "404": // end of batch; no message
			return r.advance()
		default:
			return fmt.Errorf("JetStream: status %s %s", status, msg.Header.Get("Description"))
		}
	}
}

// advance moves past the batch, and to the end when no message follows it.
func (r *replay) advance() (err error) {
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

const (
	// replayTTL is the retention period of the events of a run.
	replayTTL = 2 * time.Minute
	// replayBytes is the limit of the replay stream, in bytes; the oldest events are
	// removed first.
	replayBytes = 128 << 20
)

// Setup creates the replay stream, which retains the events of runs for Resume, or
// updates one that exists. It is in memory: a stand-alone server loses it on a restart,
// and until the next Setup no run can be resumed.
func (s Stream[Req]) Setup(ctx context.Context, c *Conn, copies bucket.Copies) error {
	config := jetstream.StreamConfig{
		Name:        s.replayStream(),
		Subjects:    []string{s.control("*") + replayToken},
		Storage:     jetstream.MemoryStorage,
		MaxAge:      replayTTL,
		MaxBytes:    replayBytes,
		Discard:     jetstream.DiscardOld,
		NoAck:       true, // events are published without waiting
		AllowDirect: true,
		DenyDelete:  true,
		DenyPurge:   true,
		Replicas:    max(1, copies.Replicas),
	}
	return bucket.Await(ctx, c.js, "set up stream "+config.Name, func() error {
		if copies.Replicas == 0 {
			existing, err := c.js.Stream(ctx, config.Name)
			if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			if err == nil {
				config.Replicas = existing.CachedInfo().Config.Replicas
			}
		}
		_, err := c.js.CreateOrUpdateStream(ctx, config)
		return err
	})
}

// Bind waits until the replay stream exists or ctx ends, and then returns its error.
func (s Stream[Req]) Bind(ctx context.Context, c *Conn) error {
	if _, err := bucket.BindStream(ctx, c.js, s.replayStream()); err != nil {
		return fmt.Errorf("replay events of %s: %w", s.Subject, err)
	}
	return nil
}

// replayStream returns the name of the JetStream stream with the events of runs.
func (s Stream[Req]) replayStream() string {
	return strings.ReplaceAll(strings.TrimPrefix(s.Subject, "cairn."), ".", "_")
}
