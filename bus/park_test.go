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
)

// parking serves ResolveAgent on a service of one slot: requests for "wait" park
// until the release.
func parking(t *testing.T) (conn *bus.Conn, parked <-chan struct{}, release context.CancelFunc) {
	t.Helper()
	server, conn := bustest.Start(t)
	waiting, release := context.WithCancel(context.Background())
	t.Cleanup(release)
	reports := make(chan struct{}, 4096)
	err := bus.ResolveAgent.Serve(narrow(t, server), func(ctx context.Context, q schemas.AgentQuery) (a schemas.AgentAnswer, err error) {
		if q.Query != "wait" {
			return a, nil
		}
		return a, bus.Park(ctx, func(ctx context.Context) error {
			reports <- struct{}{}
			select {
			case <-waiting.Done():
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return conn, reports, release
}

func TestParkedRequestHoldsNoSlot(t *testing.T) {
	t.Parallel()
	conn, parked, release := parking(t)
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := bus.ResolveAgent.Call(t.Context(), conn, schemas.AgentQuery{Query: "wait"}); err != nil {
			t.Errorf("the parked request: %v", err)
		}
	})
	<-parked
	if _, err := bus.ResolveAgent.Call(t.Context(), conn, schemas.AgentQuery{Query: "q"}); err != nil {
		t.Errorf("another request meanwhile: %v", err)
	}
	release()
	first.Wait()
}

func TestParkedRequestsAreBoundedPerTenant(t *testing.T) {
	t.Parallel()
	conn, parked, release := parking(t)
	of := func(tenant string) context.Context {
		return bus.WithIdentity(t.Context(), &schemas.Identity{ID: tenant, Role: schemas.RoleReader, Tenants: []string{tenant}})
	}
	var released atomic.Bool
	// The only slot is released a moment after the reply.
	call := func(ctx context.Context) (err error) {
		for first := true; first || errors.Is(err, schemas.ErrUnavailable) && !released.Load(); first = false {
			_, err = bus.ResolveAgent.Call(ctx, conn, schemas.AgentQuery{Query: "wait"})
		}
		return err
	}
	var all sync.WaitGroup
	refused := make(chan struct{}, 4096)
	accepted := 0
	for full := false; !full && accepted < 1024; {
		all.Go(func() {
			if errors.Is(call(of("acme")), schemas.ErrTooManyRequests) {
				refused <- struct{}{}
			}
		})
		select {
		case <-parked:
			accepted++
		case <-refused:
			full = true
		case <-time.After(20 * time.Second):
			t.Fatal("a request neither parks nor is refused")
		}
	}
	if accepted < 500 || accepted > 900 {
		t.Errorf("%d requests of one tenant are parked, want most of 1,024", accepted)
	}
	all.Go(func() { _ = call(of("globex")) })
	select {
	case <-parked:
	case <-time.After(20 * time.Second):
		t.Error("a request of another tenant is not parked")
	}
	released.Store(true)
	release()
	all.Wait()
}
