package projection

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"cairn/schemas"
)

// remembered is the number of revisions tracked individually: many times what all
// workers apply while a registration waits.
const remembered = 1 << 14

var (
	errFilling    = errors.New("the index is being rebuilt, or other workers use another model")
	errNoResponse = errors.New("the index has not responded yet")
)

// progress is the knowledge of which revisions are searchable: a watermark and the
// revisions above it. It is no watermark.Watermark: workers apply revisions out of
// order, one that failed is not awaited, and another generation starts at 0.
type progress struct {
	mu         sync.Mutex
	generation string
	live       bool            // whether searches read the generation
	stuck      error           // why nothing is being applied; nil: it is
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

// aim sets the generation written to and whether it is live. A different generation
// resets the progress.
func (s *progress) aim(generation string, live bool) {
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

// stick sets why nothing is applied; nil: it is. It reports whether that changed.
func (s *progress) stick(why error) (began bool) {
	s.change(func() bool {
		began = (s.stuck == nil) != (why == nil)
		s.stuck = why
		return began
	})
	return began
}

// reach raises the watermark.
func (s *progress) reach(generation string, revision uint64) {
	s.change(func() bool {
		if s.generation != generation || revision <= s.floor {
			return false
		}
		s.floor = revision
		return true
	})
}

// receive handles an announcement of any projector, including this one.
func (s *progress) receive(news schemas.Projected) {
	s.change(func() bool {
		if s.generation != news.Generation {
			return false
		}
		applied, failed := s.note(news.Revisions, true), s.note(news.Failed, false)
		return applied || failed
	})
}

// note records the outcome of revisions and reports whether any is news.
func (s *progress) note(revisions []uint64, applied bool) (news bool) {
	for _, r := range revisions {
		before, ok := s.recent[r]
		if !ok {
			s.order = append(s.order, r)
		}
		news = news || !ok || before != applied
		s.recent[r] = applied
	}
	for len(s.order) > remembered {
		delete(s.recent, s.order[0])
		s.order = s.order[1:]
	}
	return news
}

// verdict returns nil when the revision is searchable, or why it will not be soon.
// The outcome is open until the channel closes, if there is one.
func (s *progress) verdict(revision uint64) (open <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	applied, known := s.recent[revision]
	switch {
	case s.generation == "" && s.stuck == nil: // starting
		return s.changed, nil
	case !s.live && s.stuck == nil:
		return nil, errFilling
	case s.live && (applied || !known && revision <= s.floor):
		return nil, nil
	case s.stuck != nil:
		return nil, s.stuck
	case known:
		return nil, fmt.Errorf("revision %d is not in the index", revision)
	}
	return s.changed, nil
}

// why returns what prevents changes from becoming searchable; nil: nothing.
func (s *progress) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stuck != nil:
		return s.stuck
	case s.generation == "":
		return errNoResponse
	case !s.live:
		return errFilling
	}
	return nil
}

// begun waits until the index has responded, or failed to, or ctx ends.
func (s *progress) begun(ctx context.Context) {
	for {
		s.mu.Lock()
		begun, changed := s.generation != "" || s.stuck != nil, s.changed
		s.mu.Unlock()
		if begun {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
