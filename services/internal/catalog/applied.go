package catalog

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrReplaced reports that the log was deleted, or replaced by another one or by an older copy of itself.
// Projections of it are invalid: they have to be rebuilt from its beginning.
var ErrReplaced = errors.New("the catalog was replaced")

// missingChecks is the number of consecutive checks that must find no stream: a server of
// a starting cluster may not know the stream yet.
const missingChecks = 3

// maxPositions bounds the positions that are not yet compared with the log.
const maxPositions = 64

// applied records which changes followers have applied, as evidence of a rollback of the log.
type applied struct {
	resumed chan struct{} // signals that a follower has continued with another consumer

	mu        sync.Mutex
	positions []position // since the last comparison with the log, oldest first; the last one is current
	ended     bool       // the session of the last position
}

// position is the last change that any follower has applied in a session, which ends when a follower continues
// with another consumer. In a later session the log may be an older copy that has grown beyond this revision.
type position struct {
	revision uint64
	stored   time.Time
}

// record records a change that a follower has applied.
func (a *applied) record(c Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := len(a.positions) - 1
	switch {
	case last >= 0 && c.Revision <= a.positions[last].revision:
		return
	case last >= 0 && !a.ended:
		a.positions = a.positions[:last]
	}
	a.positions = append(a.positions[max(0, len(a.positions)+1-maxPositions):], position{c.Revision, c.Stored})
	a.ended = false
}

// endSession keeps the current position until it is compared with the log, and requests a comparison before later
// writes replace the revisions that show a rollback.
func (a *applied) endSession() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	select {
	case a.resumed <- struct{}{}:
	default:
	}
}

// unchecked returns the positions to compare with the log.
func (a *applied) unchecked() []position {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.positions)
}

// checked records that the log contains the position and those before it. It removes those before it.
func (a *applied) checked(last position) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.positions = slices.DeleteFunc(a.positions, func(p position) bool { return p.revision < last.revision })
}
