package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// ErrReplaced reports that the log was deleted or replaced. Projections of it are
// invalid.
var ErrReplaced = errors.New("the catalog was deleted or replaced")

// looks is the number of consecutive checks that must find no stream: a server of
// a starting cluster may not know the stream yet.
const missingChecks = 3

// Watch checks at the given interval whether the log is the one that was opened.
// It returns [ErrReplaced] when it is not, or nil when ctx ends. It ignores checks
// that fail because the server is unavailable.
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
