package replay

import (
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

// Stored describes a run with stored events.
type Stored struct {
	Subject string
	State   string // schemas.RunRunning, …
	Started time.Time
	Updated time.Time // of its last message
}

// newStored returns the run of its last message.
func newStored(last *jetstream.RawStreamMsg) Stored {
	started, err := time.Parse(time.RFC3339Nano, last.Header.Get(headerStarted))
	if err != nil {
		started = last.Time
	}
	return Stored{last.Subject, cmp.Or(last.Header.Get(headerState), schemas.RunRunning), started, last.Time}
}

// List returns the runs with stored events on subjects that match, in no order. It reads the last
// message of each. The error is
// schemas.ErrUnavailable if there are more than 1,024, or wraps bucket.ErrNoStream.
func List(ctx context.Context, js jetstream.JetStream, stream, subject string) (runs []Stored, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	last, err := jetstreamext.GetLastMsgsFor(ctx, js, stream, []string{subject})
	if err != nil {
		return nil, err
	}
	for msg, err := range last {
		switch {
		case errors.Is(err, jetstreamext.ErrNoMessages):
			return nil, nil
		case errors.Is(err, nats.ErrNoResponders):
			return nil, fmt.Errorf("%w: %w", bucket.ErrNoStream, errNoStream)
		case errors.Is(err, jetstreamext.ErrBatchUnsupported): // 413, which the library does not know
			return nil, schemas.ErrUnavailable.Because("there are too many runs to list; expected at most 1,024 in two minutes")
		case err != nil:
			return nil, err
		}
		runs = append(runs, newStored(msg))
	}
	if err := ctx.Err(); err != nil { // the iterator ends without an error then
		return nil, err
	}
	return runs, nil
}
