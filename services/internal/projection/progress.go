package projection

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"cairn/schemas"
)

// maxRecent is the number of revisions tracked individually: many times what all
// workers apply while a registration waits.
const maxRecent = 1 << 14

var (
	errFilling    = errors.New("the index is being rebuilt, or other workers use another model")
	errNoResponse = errors.New("the index has not responded yet")
)

// progress records which revisions are searchable: a watermark and the revisions above
// it. It is not a watermark.Watermark: workers apply revisions out of order, nothing
// waits for a failed one, and another generation starts at 0.
type progress struct {
	mu         sync.Mutex
	generation string
	live       bool            // whether searches read the generation
	blocked    error           // prevents changes from being applied; nil: none
	floor      uint64          // the watermark: everything up to it was applied
	recent     map[uint64]bool // whether a revision was applied or failed
	order      []uint64        // the keys of recent, oldest first
	changed    chan struct{}   // closed and replaced on every change
}

func newProgress() *progress {
	return &progress{recent: map[uint64]bool{}, changed: make(chan struct{})}
}

// change runs f under the lock and wakes all waiters if f returns true.
func (s *progress) change(f func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f() {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// setGeneration sets the generation that is written to, and whether it is live. A
// different generation resets the progress.
func (s *progress) setGeneration(generation string, live bool) {
	s.change(func() bool {
		if s.generation != generation {
			s.floor, s.order = 0, nil
			clear(s.recent)
		}
		same := s.generation == generation && s.live == live
		s.generation, s.live = generation, live
		return !same
	})
}

// setBlocked sets the error that prevents changes from being applied, nil for none. It
// reports whether an error was set or cleared.
func (s *progress) setBlocked(err error) (changed bool) {
	s.change(func() bool {
		changed = (s.blocked == nil) != (err == nil)
		s.blocked = err
		return changed
	})
	return changed
}

// advance raises the watermark.
func (s *progress) advance(generation string, revision uint64) {
	s.change(func() bool {
		if s.generation != generation || revision <= s.floor {
			return false
		}
		s.floor = revision
		return true
	})
}

// receive handles an announcement of any projector, including this one.
func (s *progress) receive(update schemas.Projected) {
	s.change(func() bool {
		if s.generation != update.Generation {
			return false
		}
		applied, failed := s.record(update.Revisions, true), s.record(update.Failed, false)
		return applied || failed
	})
}

// record records the outcome of revisions and reports whether any is new.
func (s *progress) record(revisions []uint64, applied bool) (changed bool) {
	for _, r := range revisions {
		before, ok := s.recent[r]
		if !ok {
			s.order = append(s.order, r)
		}
		changed = changed || !ok || before != applied
		s.recent[r] = applied
	}
	for len(s.order) > maxRecent {
		delete(s.recent, s.order[0])
		s.order = s.order[1:]
	}
	return changed
}

// status returns nil when the revision is searchable, or the error that prevents it. While
// the outcome is open it returns a channel that is closed on the next change.
func (s *progress) status(revision uint64) (open <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	applied, ok := s.recent[revision]
	switch {
	case s.generation == "" && s.blocked == nil: // starting
		return s.changed, nil
	case !s.live && s.blocked == nil:
		return nil, errFilling
	case s.live && (applied || !ok && revision <= s.floor):
		return nil, nil
	case s.blocked != nil:
		return nil, s.blocked
	case ok:
		return nil, fmt.Errorf("revision %d is not in the index", revision)
	}
	return s.changed, nil
}

// problem returns the error that prevents changes from becoming searchable, or nil.
func (s *progress) problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.blocked != nil:
		return s.blocked
	case s.generation == "":
		return errNoResponse
	case !s.live:
		return errFilling
	}
	return nil
}

// waitResponse waits until the index has responded, or failed to, or ctx ends.
func (s *progress) waitResponse(ctx context.Context) {
	for {
		s.mu.Lock()
		responded, changed := s.generation != "" || s.blocked != nil, s.changed
		s.mu.Unlock()
		if responded {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
