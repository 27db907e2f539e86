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

// maxPositions bounds the positions of sessions without a comparison between them.
const maxPositions = 64

// applied records which changes followers have applied, as evidence of a rollback of the log.
type applied struct {
	mu         sync.Mutex
	positions  []position // oldest first, since the last comparison with the log; the last one is current
	session    int        // ends when a follower continues with another consumer
	epoch      int        // number of rollbacks of the log
	rolledBack error      // found by a comparison since the last reset
}

// position is the last change that any follower has applied in a session. In the next session the
// log may be an older copy that grows beyond it.
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

// endSession keeps the current position until it was compared with the log.
func (a *applied) endSession() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session++
}

// unchecked returns the positions to compare with the log, and the epoch, or the rollback that a
// comparison has found.
func (a *applied) unchecked() (positions []position, epoch int, rolledBack error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.positions), a.epoch, a.rolledBack
}

// checked records that the log contains the positions that unchecked has returned. The last one
// remains.
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
