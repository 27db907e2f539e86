package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// ErrReplaced says that the log is not there any more, or another one has come
// in its place: what is known of it is worth nothing.
var ErrReplaced = errors.New("the catalog was deleted or replaced")

// missingChecks is how often in a row the log is missing before it is held to be gone: a
// cluster that has just started may not know it yet.
const missingChecks = 3

// Watch missingChecks every so often whether the log is still the one that was opened.
// It returns [ErrReplaced] when it is not, or nil when ctx ends. While the
// server is away nothing is known, and it missingChecks on.
func (c *Catalog) Watch(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for missing := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		now, err := c.js.Stream(ctx, Stream)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			if missing++; missing == missingChecks {
				return ErrReplaced
			}
		case err != nil:
		case bucket.ID(now.CachedInfo()) != c.ID():
			return fmt.Errorf("%w: got ID %s, want %s", ErrReplaced, bucket.ID(now.CachedInfo()), c.ID())
		default:
			missing = 0
		}
	}
}
