package resolve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

// spare is what is left of search while the index that workers share is away or
// not yet full: the words of this worker's records.
type spare struct {
	feed   *feed
	filled chan struct{} // closed once it has what was in the log at first
}

// startSpare begins to fill the spare behind the worker's start, which does not
// wait for it.
func (r *Resolver) startSpare(ctx context.Context, read <-chan struct{}) {
	s := &spare{newFeed(index.NewWords(), r.deps.Log), make(chan struct{})}
	r.spare = s
	r.follow.Go(func() {
		select {
		case <-read:
		case <-ctx.Done():
			return
		}
		r.read(ctx, func(changes []catalog.Change) error { return s.feed.apply(ctx, changes) },
			func() { close(s.filled) })
	})
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

// search goes by words, because of what is wrong with the index.
func (s *spare) search(ctx context.Context, q index.Query, wrong error) (index.Result, error) {
	select {
	case <-s.filled:
	default:
		return index.Result{}, fmt.Errorf("%w: %w; the worker's own records are not ready to be searched yet",
			index.ErrUnavailable, wrong)
	}
	if _, err := s.feed.current(ctx); err != nil {
		return index.Result{}, err
	}
	q.By = index.Text
	result, err := s.feed.index.Search(ctx, q)
	result.Degraded = schemas.IndexAway
	return result, err
}
