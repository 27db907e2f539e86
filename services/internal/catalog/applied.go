package catalog

import (
	"errors"
	"slices"
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

// maxPositions bounds the positions that are not yet compared with the log.
const maxPositions = 64

// applied records which changes followers have applied, as evidence of a rollback of the log.
type applied struct {
	mu         sync.Mutex
	positions  []position // since the last comparison with the log, oldest first; the last one is current
	session    int        // number of the session, which ends when a follower continues with another consumer
	epoch      int        // number of rollbacks of the log
	rolledBack error      // found by a comparison since the last reset
}

// position is the last change that any follower has applied in a session. In a later session the log
// may be an older copy that has grown beyond this revision.
type position struct {
	session  int
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
	n := len(a.positions)
	if epoch != a.epoch || n > 0 && c.Revision <= a.positions[n-1].revision {
		return
	}
	p := position{a.session, c.Revision, c.Stored}
	if n > 0 && a.positions[n-1].session == a.session {
		a.positions[n-1] = p
		return
	}
	a.positions = append(a.positions[max(0, n+1-maxPositions):], p)
}

// endSession starts a new session, so that the current position is kept until it is compared with the log.
func (a *applied) endSession() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session++
}

// unchecked returns the positions to compare with the log and the epoch. rolledBack is the rollback
// that an earlier comparison has found.
func (a *applied) unchecked() (positions []position, epoch int, rolledBack error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.positions), a.epoch, a.rolledBack
}

// checked records that the log contains the positions, which unchecked has returned. It removes all
// but the last one.
func (a *applied) checked(positions []position) {
	if len(positions) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	last := positions[len(positions)-1].session
	a.positions = slices.DeleteFunc(a.positions, func(p position) bool { return p.session < last })
}

// foundRollback records a rollback in the epoch until reset.
func (a *applied) foundRollback(err error, epoch int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if epoch == a.epoch {
		a.rolledBack = err
	}
}

func (a *applied) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.positions, a.rolledBack = nil, nil
	a.epoch++
}
