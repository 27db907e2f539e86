package replay

import (
	"bytes"
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

// Stored describes the last message of a run.
type Stored struct {
	Subject string
	Updated time.Time
	Ended   bool // it has the done event
}

// List returns the runs with stored events on subjects that match, in no order. The error is
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
		runs = append(runs, Stored{msg.Subject, msg.Time, bytes.Contains(msg.Data, []byte("\nevent: "+schemas.EventDone+"\n"))})
	}
	if err := ctx.Err(); err != nil { // the iterator ends without an error then
		return nil, err
	}
	return runs, nil
}
