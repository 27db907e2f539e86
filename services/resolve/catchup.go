package resolve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/schemas"
	"cairn/services/internal/watermark"
)

// catchUpTimeout bounds the wait of a request for the records of this worker to catch up with the
// catalog. It is longer than the election of a leader, during which the worker may lack the newest writes.
const catchUpTimeout = 8 * time.Second

// indexTimeout bounds the wait for the index of this worker, which is updated after its records.
const indexTimeout = 2 * time.Second

// usualLag is the time in which a worker that is not overloaded applies a new revision. If it takes
// longer, a request to NATS checks whether the revision exists.
const usualLag = 20 * time.Millisecond

// waitRevision waits for the revision up to the timeout.
func waitRevision(ctx context.Context, w *watermark.Watermark, revision uint64, timeout time.Duration) error {
	if w.Revision() >= revision {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return w.Wait(waiting, revision)
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func errBehind(component string, required, applied uint64) error {
	return schemas.ErrUnavailable.Because(fmt.Sprintf(
		"the %s of the worker have applied revision %d of the catalog; the request requires %d", component, applied,
		required))
}
