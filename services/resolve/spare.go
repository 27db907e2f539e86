package resolve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

const (
	// Words are taken apart once nothing new came for quiet, and after longest
	// however much comes: while many records are registered, others need the
	// processors more.
	quiet   = time.Second
	longest = 30 * time.Second
	// piece is how many changes the spare takes in before it looks up.
	piece = 256
)

// spare is what is left of search while the index that workers share is away or
// not yet full: the words of this worker's records.
type spare struct {
	feed  *feed
	news  chan struct{} // has something when changes wait
	asked chan struct{} // has something when somebody searches

	mu      sync.Mutex
	waiting []catalog.Change // in the order of the log
	noted   uint64           // the last revision that waits, or has
}

func newSpare(r *Resolver) *spare {
	return &spare{
		feed:  newFeed(index.NewWords(), nil, r.deps.Log),
		news:  make(chan struct{}, 1),
		asked: make(chan struct{}, 1),
	}
}

// note keeps changes for later. A nil spare needs none.
func (s *spare) note(changes []catalog.Change) {
	if s == nil || len(changes) == 0 {
		return
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, changes...)
	s.noted = changes[len(changes)-1].Revision
	s.mu.Unlock()
	signal(s.news)
}

// run takes in what was noted, until ctx ends.
func (s *spare) run(ctx context.Context) {
	for filled := false; ; {
		select {
		case <-s.news:
		case <-ctx.Done():
			return
		}
		s.rest(ctx)
		for next := s.next(); len(next) > 0 && ctx.Err() == nil; next = s.next() {
			_ = s.feed.apply(ctx, next) // goes on until it has worked, or ctx ends
		}
		if !filled {
			debug.FreeOSMemory() // what it took to join is not needed again
			filled = true
		}
	}
}

// rest waits until the log is quiet, or somebody needs what waits.
func (s *spare) rest(ctx context.Context) {
	silence, end := time.NewTimer(quiet), time.NewTimer(longest)
	defer silence.Stop()
	defer end.Stop()
	for {
		select {
		case <-s.news:
			silence.Reset(quiet)
			continue
		case <-silence.C:
		case <-end.C:
		case <-s.asked:
		case <-ctx.Done():
		}
		return
	}
}

func (s *spare) next() []catalog.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(piece, len(s.waiting))
	next := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	if len(s.waiting) == 0 {
		s.waiting = nil // lets go of what was read
	}
	return next
}

// search goes by words, because of what is wrong with the index.
func (s *spare) search(ctx context.Context, q index.Query, wrong error) (index.Result, error) {
	s.mu.Lock()
	noted := s.noted
	s.mu.Unlock()
	signal(s.asked)
	err := s.feed.mark.await(ctx, noted)
	if errors.Is(err, bus.ErrNotParked) {
		return index.Result{}, err
	}
	if err != nil {
		return index.Result{}, fmt.Errorf("%w: %w; the worker's own records are not ready to be searched yet",
			index.ErrUnavailable, wrong)
	}
	q.By = index.Text
	result, err := s.feed.index.Search(ctx, q)
	result.Degraded = schemas.IndexUnavailable
	return result, err
}

// ask searches the index, or the spare while the index is away. Of the time
// that the caller gives, an index that hangs takes no more than half.
func (r *Resolver) ask(ctx context.Context, q index.Query) (index.Result, error) {
	if r.spare == nil || q.By == index.Vector {
		return r.deps.Index.Search(ctx, q)
	}
	within, cancel := half(ctx)
	defer cancel()
	result, err := r.deps.Index.Search(within, q)
	slow := within.Err() != nil && ctx.Err() == nil
	if err == nil || !slow && !errors.Is(err, index.ErrUnavailable) {
		return result, err
	}
	return r.spare.search(ctx, q, err)
}

// half is a context that ends when half of ctx's time is over.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}

// signal makes sure that c has something.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
