package bus_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

func TestCheckSharesResults(t *testing.T) {
	t.Parallel()
	var evaluations atomic.Int32
	check := bus.NewCheck(time.Minute, func(context.Context) int32 { return evaluations.Add(1) })
	began := time.Now()
	var callers sync.WaitGroup
	for range 1000 {
		callers.Go(func() { check.Result(t.Context()) })
	}
	callers.Wait()
	if most := 1 + int32(time.Since(began)/(250*time.Millisecond)); evaluations.Load() > most {
		t.Errorf("%d evaluations for 1,000 callers, want at most %d", evaluations.Load(), most)
	}
	first := evaluations.Load()
	wait.Until(t, "it is evaluated again", func() bool { return check.Result(t.Context()) != first })
}

// A caller that has disconnected, or has a short timeout, does not affect the result of
// other callers.
func TestCheckOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	left, leave := context.WithCancel(t.Context())
	leave()
	check := bus.NewCheck(time.Minute, context.Context.Err)
	if err := check.Result(left); err != nil {
		t.Errorf("the evaluation ended with its caller: %v", err)
	}
	short := bus.NewCheck(time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	if err := short.Result(t.Context()); err == nil {
		t.Error("the evaluation has no timeout")
	}
}

func TestServeHealthSharesResults(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	var evaluations, requiring atomic.Int32
	err := bus.ServeHealth(bustest.Service(t, conn, "tags"), "tags", func(context.Context) (schemas.Health, error) {
		evaluations.Add(1)
		return schemas.Health{Service: "tags", Revision: 3}, nil
	}, func(ctx context.Context) (uint64, error) {
		switch least := bus.MinRevisionOf(ctx, ""); {
		case least == 0:
			return 0, nil
		case least > 7:
			return 0, schemas.ErrMalformed
		}
		requiring.Add(1)
		return 7, nil
	})
	bustest.Must(t, err)
	began := time.Now()
	var callers sync.WaitGroup
	for i := range 100 {
		callers.Go(func() {
			ctx, want := t.Context(), uint64(3)
			if i < 50 {
				ctx, want = bus.WithTokens(ctx, schemas.ConsistencyToken{Revision: 1}), 7
			}
			if h, err := bus.Health("tags").Call(ctx, conn, schemas.Nothing{}); err != nil || h.Service != "tags" ||
				h.Revision != want {
				t.Errorf("got %+v, %v, want revision %d", h, err, want)
			}
		})
	}
	callers.Wait()
	if most := 1 + int32(time.Since(began)/(250*time.Millisecond)); evaluations.Load() > most {
		t.Errorf("%d evaluations for 100 requests, want at most %d", evaluations.Load(), most)
	}
	if requiring.Load() < 50 { // a read may be hedged
		t.Errorf("%d of 50 requests waited for their revision", requiring.Load())
	}
	ctx := bus.WithTokens(t.Context(), schemas.ConsistencyToken{Revision: 8})
	if _, err := bus.Health("tags").Call(ctx, conn, schemas.Nothing{}); !errors.Is(err, schemas.ErrMalformed) {
		t.Errorf("a revision that does not exist: got %v, want %v", err, schemas.ErrMalformed)
	}
}
