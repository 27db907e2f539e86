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
	mu sync.Mutex
	position
	frozen int      // number of resumptions since the log was compared with the position
	next   position // replaces the position once that was compared
	epoch  int      // number of rollbacks of the log
}

// position is a change that was applied.
type position struct {
	revision uint64
	stored   time.Time
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
	if epoch != a.epoch {
		return
	}
	if c.Revision > max(a.revision, a.next.revision) {
		a.next = position{c.Revision, c.Stored}
	}
	a.advance()
}

// advance applies the next position unless the current one has to be compared first.
func (a *applied) advance() {
	if a.frozen == 0 && a.next.revision > 0 {
		a.position, a.next = a.next, position{}
	}
}

func (a *applied) last() (of position, frozen int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.position, a.frozen
}

func (a *applied) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.position, a.next, a.frozen = position{}, position{}, 0
	a.epoch++
}

// freeze keeps the position until it was compared with the log.
func (a *applied) freeze() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.frozen++
}

// compared records that the log contains the position that last returned with frozen.
func (a *applied) compared(frozen int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.frozen == frozen { // else a follower has resumed meanwhile
		a.frozen = 0
		a.advance()
	}
}
