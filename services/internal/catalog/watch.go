package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

var (
	// ErrReplaced reports that the log was deleted or replaced. Projections of it are
	// invalid.
	ErrReplaced = errors.New("the catalog was deleted or replaced")
	// ErrRolledBack reports that the log lacks changes that were applied: its data was
	// replaced by an older copy, or delete markers have expired before they were
	// applied. Projections have to be rebuilt from its beginning.
	ErrRolledBack = errors.New("the catalog was rolled back")
)

// missingChecks is the number of consecutive checks that must find no stream: a server of
// a starting cluster may not know the stream yet.
const missingChecks = 3

// Watch checks at the given interval whether the log is the one that was opened, and
// contains the applied revisions. It returns [ErrReplaced] when it is another one, or nil
// when ctx ends. After a rollback it calls onRollback with an error that wraps
// [ErrRolledBack]. It ignores checks that fail because the server is unavailable.
func (c *Catalog) Watch(ctx context.Context, interval time.Duration, onRollback func(error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for missing, checked := 0, time.Now(); ; {
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
			continue
		case err != nil:
			continue
		case bucket.ID(now.CachedInfo()) != c.ID():
			return fmt.Errorf("%w: got ID %s, expected %s", ErrReplaced, bucket.ID(now.CachedInfo()), c.ID())
		}
		missing = 0
		err = c.compare(ctx, now)
		if since := time.Since(checked); since > markerTTL {
			err = fmt.Errorf("%w: it was unavailable for %v, and delete markers expire after %v", ErrRolledBack, since, markerTTL)
		}
		if checked = time.Now(); err != nil {
			c.applied.reset()
			onRollback(err)
		}
	}
}

// compare returns ErrRolledBack if the log ends before the last applied change, or has
// another change at its revision. It returns nil if the log cannot be read.
func (c *Catalog) compare(ctx context.Context, now jetstream.Stream) error {
	revision, stored := c.applied.last()
	if revision == 0 {
		return nil
	}
	if now.CachedInfo().State.LastSeq < revision {
		last, err := c.Fence(ctx) // the leader that replied may have been deposed
		if err == nil && last < revision {
			return fmt.Errorf("%w: it ends at revision %d, and revision %d was applied", ErrRolledBack, last, revision)
		}
		return nil
	}
	msg, err := now.GetMsg(ctx, revision)
	if err == nil && !msg.Time.Equal(stored) {
		return fmt.Errorf("%w: revision %d was stored at %v, but the applied one at %v", ErrRolledBack, revision, msg.Time, stored)
	}
	return nil
}

// applied is the last change that any follower has applied.
type applied struct {
	mu       sync.Mutex
	revision uint64
	stored   time.Time
	frozen   bool // the log was rolled back behind it, which Watch will report
	epoch    int  // number of rollbacks of the log
}

// begin returns the epoch for a follower that begins at the start of the log.
func (a *applied) begin() (epoch int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epoch
}

// recordApplied records a change that a follower of the epoch has applied.
func (a *applied) recordApplied(c Change, epoch int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Revision > a.revision && !a.frozen && epoch == a.epoch {
		a.revision, a.stored = c.Revision, c.Stored
	}
}

func (a *applied) last() (revision uint64, stored time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.revision, a.stored
}

func (a *applied) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revision, a.frozen = 0, false
	a.epoch++
}

func (a *applied) freeze() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.frozen = true
}

// checkResumed checks the log when a follower continues with another consumer: after a
// rollback the log may grow beyond the applied revision before the next check of Watch.
func (c *Catalog) checkResumed(ctx context.Context) {
	now, err := c.js.Stream(ctx, Stream)
	if err == nil && c.compare(ctx, now) != nil {
		c.applied.freeze()
	}
}
