package catalog

import (
	"errors"
	"sync"
	"time"
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

// applied is the last change that any follower has applied.
type applied struct {
	mu       sync.Mutex
	revision uint64
	stored   time.Time
	frozen   bool // the log was rolled back behind it, which Watch will report
	epoch    int  // number of rollbacks of the log
}

// start returns the epoch of a follower that reads the log from its beginning.
func (a *applied) start() (epoch int) {
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
