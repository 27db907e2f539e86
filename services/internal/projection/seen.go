package projection

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"cairn/schemas"
)

// remembered is how many revisions are remembered one by one: what all workers
// apply while a registration is answered, many times over.
const remembered = 1 << 14

var (
	errFilling = errors.New("the index is being filled anew, or other workers have another model")
	errSilent  = errors.New("the index has not answered yet")
)

// seen is what is known to be searchable.
type seen struct {
	mu         sync.Mutex
	generation string
	live       bool            // searches read the generation
	stuck      error           // why nothing is applied at present
	floor      uint64          // all up to it were applied
	recent     map[uint64]bool // whether a revision was applied, or failed
	order      []uint64        // of recent, oldest first
	changed    chan struct{}   // closed, and replaced, when the rest changes
}

func newSeen() *seen {
	return &seen{recent: map[uint64]bool{}, changed: make(chan struct{})}
}

// change lets f change what is known. All who wait look again when f says that
// it did.
func (s *seen) change(f func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f() {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// aim says which generation is written to, and whether searches read it. Of
// another one nothing is known.
func (s *seen) aim(generation string, live bool) {
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

// stick says why nothing is applied; nil: it is. It reports whether that is new.
func (s *seen) stick(why error) (began bool) {
	s.change(func() bool {
		began = (s.stuck == nil) != (why == nil)
		s.stuck = why
		return began
	})
	return began
}

// reach says up to which revision all was applied.
func (s *seen) reach(generation string, revision uint64) {
	s.change(func() bool {
		if s.generation != generation || revision <= s.floor {
			return false
		}
		s.floor = revision
		return true
	})
}

// hear takes in what a projector tells; its own comes back to it.
func (s *seen) hear(news schemas.Projected) {
	s.change(func() bool {
		if s.generation != news.Generation {
			return false
		}
		applied, failed := s.note(news.Revisions, true), s.note(news.Failed, false)
		return applied || failed
	})
}

// note reports whether something of it was not known.
func (s *seen) note(revisions []uint64, applied bool) (news bool) {
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

// verdict is nil when the revision is searchable, or why it is not and will
// not be soon. It is open until the channel closes, when there is one.
func (s *seen) verdict(revision uint64) (open <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	applied, known := s.recent[revision]
	switch {
	case s.generation == "" && s.stuck == nil: // just begun
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

// why is what keeps changes from being applied and found; nil: nothing does.
func (s *seen) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stuck != nil:
		return s.stuck
	case s.generation == "":
		return errSilent
	case !s.live:
		return errFilling
	}
	return nil
}

// begun returns when the index has answered, or could not be asked, or ctx
// ends.
func (s *seen) begun(ctx context.Context) {
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
