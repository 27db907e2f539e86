package replay

import (
	"bytes"
	"cmp"
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
	// that the read can be retried at another replica.
	fetchTimeout = 2 * time.Second
)

var errNoStream = schemas.ErrUnavailable.Because("no replay stream for runs: run cairn setup")

// Reader reads the stored events of a run. It must not be used concurrently.
type Reader struct {
	js      jetstream.JetStream
	stream  string // name in JetStream
	subject string // of the events of the run
	at      uint64 // sequence in the replay stream of the next message; 0: at the end
	reads   uint64 // sequence of the message being read; 0: the stream has none of the run
	batch   []*jetstream.RawStreamMsg
	frames  []byte // unread events of the current message
	done    bool   // the done event was read
}

// NewReader returns a reader of the events on the subject, before the first one.
func NewReader(js jetstream.JetStream, stream, subject string) *Reader {
	return &Reader{js: js, stream: stream, subject: subject, at: 1}
}

// Done reports whether the done event was read.
func (r *Reader) Done() bool { return r.done }

// Found reports whether the stream has a message of the run: it has started.
func (r *Reader) Found() bool { return r.reads > 0 }

// Restart makes Next start again at the last message that it has read.
func (r *Reader) Restart() { r.at, r.batch, r.frames = max(1, r.reads), nil, nil }

// Next returns the next stored event; false at the end, where it returns further events after a
// Restart.
func (r *Reader) Next(ctx context.Context) (e Event, ok bool, err error) {
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
	e, r.frames, ok = Parse(r.frames)
	r.done = r.done || e.Type == schemas.EventDone
	return e, ok, nil
}

// fetch reads the next batch of messages.
func (r *Reader) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	batch, err := bucket.Collect(jetstreamext.GetBatch(ctx, r.js, r.stream, fetchBatch,
		jetstreamext.GetBatchSubject(r.subject), jetstreamext.GetBatchSeq(r.at)))
	if err = readError(ctx, err); err != nil {
		return err
	}
	r.batch, r.at = batch, 0
	if n := len(batch); n > 0 && batch[n-1].Header.Get("Nats-Num-Pending") != "0" {
		r.at = batch[n-1].Sequence + 1
	}
	return nil
}

// readError returns the error of a read of the stream that returned err.
func readError(ctx context.Context, err error) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("%w: %w", bucket.ErrNoStream, errNoStream)
	}
	return cmp.Or(err, ctx.Err()) // bucket.Collect returns no error when ctx has ended
}

// Run is a run with stored events.
type Run struct {
	Name    string
	State   string // schemas.RunRunning, …
	Started time.Time
	Updated time.Time // when its last events were stored
}

// newRun returns the run of its last message.
func newRun(name string, last *jetstream.RawStreamMsg) Run {
	started, err := time.Parse(time.RFC3339Nano, last.Header.Get(headerStarted))
	if err != nil {
		started = last.Time
	}
	return Run{name, cmp.Or(last.Header.Get(headerState), schemas.RunRunning), started, last.Time}
}

// List returns the runs with stored events, in no order, whose names replace the wildcard of the
// subject. It reads the last message of each. The error is
// schemas.ErrUnavailable if there are more than 1,024, or wraps bucket.ErrNoStream.
func List(ctx context.Context, js jetstream.JetStream, stream, subject string) (runs []Run, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	last, err := bucket.Collect(jetstreamext.GetLastMsgsFor(ctx, js, stream, []string{subject}))
	if errors.Is(err, jetstreamext.ErrBatchUnsupported) { // 413, which the library does not know
		return nil, schemas.ErrUnavailable.Because("there are too many runs to list; expected at most 1,024 in two minutes")
	}
	before, after, _ := strings.Cut(subject, "*")
	for _, msg := range last {
		runs = append(runs, newRun(strings.TrimSuffix(strings.TrimPrefix(msg.Subject, before), after), msg))
	}
	return runs, readError(ctx, err)
}
