package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	// fetchBatch is the maximum number of messages in a batch.
	fetchBatch = 64
	// fetchTimeout bounds the reading of a batch. It is less than the grace period of a run, so
	// that another replica of the stream may be asked.
	fetchTimeout = 2 * time.Second
)

// replay reads the stored events of a run; replayWriter stores them.
type replay struct {
	conn   *Conn
	stream string // name in JetStream
	run    string // control subject
	at     uint64 // sequence in the replay stream of the next message; 0: at the end
	reads  uint64 // sequence of the message being read; 0: the stream has none of the run
	batch  []*jetstream.RawStreamMsg
	frames []byte // unread events of the current message
	done   bool   // the done event was read
}

func (s Stream[Req]) newReplay(c *Conn, run string) *replay {
	return &replay{conn: c, stream: s.ReplayStream(), run: run}
}

// restart makes next start again at the last message that it has read.
func (r *replay) restart() { r.at, r.batch, r.frames = max(1, r.reads), nil, nil }

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
		r.reads, r.frames, r.batch = r.batch[0].Sequence, bytes.TrimPrefix(r.batch[0].Data, []byte(runStarted)), r.batch[1:]
	}
	e, r.frames, ok = readFrame(r.frames)
	r.done = r.done || e.Type == schemas.EventDone
	return e, ok, nil
}

// fetch reads the next batch of messages.
func (r *replay) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	batch, err := jetstreamext.GetBatch(ctx, r.conn.Reader().js, r.stream, fetchBatch,
		jetstreamext.GetBatchSubject(r.run+replayToken), jetstreamext.GetBatchSeq(r.at))
	if err != nil {
		return transportError(r.run, err)
	}
	r.at = 0
	for msg, err := range batch {
		switch {
		case errors.Is(err, jetstreamext.ErrNoMessages):
			return nil
		case errors.Is(err, nats.ErrNoResponders):
			return schemas.ErrUnavailable.Because("no replay stream for runs: run cairn setup")
		case err != nil:
			return transportError(r.run, err)
		}
		r.batch = append(r.batch, msg)
		if r.at = msg.Sequence + 1; msg.Header.Get("Nats-Num-Pending") == "0" {
			r.at = 0
		}
	}
	if err := ctx.Err(); err != nil { // the iterator ends without an error then
		return transportError(r.run, err)
	}
	return nil
}

const (
	// replayTTL is the retention period of the events of a run.
	replayTTL = 2 * time.Minute
	// replayBytes is the limit of the replay stream, in bytes; the oldest events are
	// removed first.
	replayBytes = 128 << 20
	// workerReplayBytes bounds the events that the runs of one worker store within replayTTL, in
	// bytes. It is divided among tenants, so that with up to four workers no event is removed
	// because of another tenant's.
	workerReplayBytes = replayBytes / 4
)

// Setup creates the replay stream, which retains the events of runs for Resume, or
// updates one that exists. It is in memory: a stand-alone server loses it on a restart,
// and until the next Setup no run can be resumed.
func (s Stream[Req]) Setup(ctx context.Context, c *Conn, replication bucket.Replication) error {
	config := jetstream.StreamConfig{
		Name:        s.ReplayStream(),
		Subjects:    []string{s.control("*") + replayToken},
		Storage:     jetstream.MemoryStorage,
		MaxAge:      replayTTL,
		MaxBytes:    replayBytes,
		Discard:     jetstream.DiscardOld,
		Duplicates:  2 * storeTimeout,
		AllowDirect: true,
		DenyDelete:  true,
		DenyPurge:   true,
		Replicas:    max(1, replication.Replicas),
	}
	return bucket.Await(ctx, c.js, "set up stream "+config.Name, func() error {
		if replication.Replicas == 0 {
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
	if _, err := bucket.BindStream(ctx, c.js, s.ReplayStream()); err != nil {
		return fmt.Errorf("replay events of %s: %w", s.Subject, err)
	}
	return nil
}

// ReplayStream returns the name of the JetStream stream with the events of runs.
func (s Stream[Req]) ReplayStream() string { return strings.ReplaceAll(s.Subject, ".", "_") }
