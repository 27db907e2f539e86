package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	fetchBatch = 64 // maximum number of messages in a batch
	// fetchTimeout bounds the reading of a batch. It is less than the grace period of a run, so
	// that the read can be retried at another replica.
	fetchTimeout = 2 * time.Second
)

var errNoStream = schemas.ErrUnavailable.Because("no replay stream for runs: run cairn setup")

// Reader reads the stored events of a run. It must not be used concurrently.
type Reader struct {
	js      jetstream.JetStream
	events  Location
	next    uint64 // sequence in the replay stream to read from; 0: at the end
	current uint64 // sequence of the message being read; 0: none was read
	batch   []*jetstream.RawStreamMsg
	frames  []byte // unread events of the current message
	done    bool   // the done event was read
}

// NewReader returns a reader of the events of a run, before the first one.
func NewReader(js jetstream.JetStream, events Location) *Reader {
	return &Reader{js: js, events: events, next: 1}
}

// Done reports whether the done event was read.
func (r *Reader) Done() bool { return r.done }

// Found reports whether a message of the run was read, so that the run is known to exist.
func (r *Reader) Found() bool { return r.current > 0 }

// Restart rewinds Next to the beginning of the last message read.
func (r *Reader) Restart() { r.next, r.batch, r.frames = max(1, r.current), nil, nil }

// Next returns the next stored event, or false at the end. After the end, it returns further events
// only after Restart.
func (r *Reader) Next(ctx context.Context) (e Event, ok bool, err error) {
	for len(r.frames) == 0 {
		if len(r.batch) == 0 && r.next > 0 {
			if err := r.fetch(ctx); err != nil {
				return Event{}, false, err
			}
		}
		if len(r.batch) == 0 {
			return Event{}, false, nil
		}
		r.current, r.frames, r.batch = r.batch[0].Sequence, bytes.TrimPrefix(r.batch[0].Data, []byte(runStarted)), r.batch[1:]
	}
	e, r.frames, ok = Parse(r.frames)
	r.done = r.done || e.Type == schemas.EventDone
	return e, ok, nil
}

func (r *Reader) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	batch, err := bucket.Collect(jetstreamext.GetBatch(ctx, r.js, r.events.Stream, fetchBatch,
		jetstreamext.GetBatchSubject(r.events.Subject), jetstreamext.GetBatchSeq(r.next)))
	if err = readError(ctx, err); err != nil {
		return err
	}
	r.batch, r.next = batch, 0
	if n := len(batch); n > 0 && batch[n-1].Header.Get("Nats-Num-Pending") != "0" {
		r.next = batch[n-1].Sequence + 1
	}
	return nil
}

// readError returns the error of a batch request that returned err.
func readError(ctx context.Context, err error) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("%w: %w", bucket.ErrNoStream, errNoStream)
	}
	return cmp.Or(err, ctx.Err()) // bucket.Collect returns no error when ctx has ended
}
