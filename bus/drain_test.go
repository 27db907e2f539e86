package bus_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// serveTags starts a service that answers bus.ReadTag with handle.
func serveTags(t *testing.T, conn *bus.Conn, handle func(context.Context)) *bus.Service {
	t.Helper()
	s := bustest.Service(t, conn, "tags")
	bustest.Must(t, bus.ReadTag.Serve(s, func(ctx context.Context, _ schemas.TagKey) (schemas.TagFound, error) {
		handle(ctx)
		return schemas.TagFound{}, ctx.Err()
	}))
	return s
}

// readTag sends a request and returns when the handler has received it.
func readTag(t *testing.T, conn *bus.Conn, handled <-chan struct{}) {
	t.Helper()
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r"}) })
	t.Cleanup(asking.Wait)
	<-handled
}

func TestStopTimeout(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		handle func(ctx context.Context, release <-chan struct{})
	}{
		{"a handler that ends when it is canceled", func(ctx context.Context, _ <-chan struct{}) { <-ctx.Done() }},
		{"a handler that ignores its context", func(_ context.Context, release <-chan struct{}) { <-release }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn := bustest.Open(t)
			handled, release := make(chan struct{}), make(chan struct{})
			s := serveTags(t, conn, func(ctx context.Context) {
				close(handled)
				row.handle(ctx, release)
			})
			readTag(t, conn, handled)
			stopped := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				defer cancel()
				stopped <- s.Stop(ctx)
			}()
			select {
			case err := <-stopped:
				if !errors.Is(err, bus.ErrDrainTimeout) {
					t.Errorf("got %v, want %v", err, bus.ErrDrainTimeout)
				}
			case <-time.After(wait.Timeout):
				t.Error("Stop waits for the handler")
			}
			close(release)
		})
	}
}

func TestStopIdleService(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	handled := make(chan struct{})
	s := serveTags(t, conn, func(context.Context) { close(handled) })
	readTag(t, conn, handled)
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
