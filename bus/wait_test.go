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

// maxWaiting is the maximum number of waiting requests. On a busy machine, requests would time out
// before they reach a higher one.
const maxWaiting = 64

// serveWaiting serves ResolveAgent on a service of one slot: requests for "wait" wait
// without a slot until the release.
func serveWaiting(t *testing.T) (conn *bus.Conn, waiting <-chan struct{}, release context.CancelFunc) {
	t.Helper()
	server, conn := bustest.Start(t)
	released, release := context.WithCancel(context.Background())
	t.Cleanup(release)
	reports := make(chan struct{}, maxWaiting)
	s := narrow(t, server)
	bus.BoundWaiting(s, maxWaiting)
	err := bus.ResolveAgent.Serve(s, func(ctx context.Context, q schemas.AgentQuery) (a schemas.AgentAnswer, err error) {
		if q.Query != "wait" {
			return a, nil
		}
		return a, bus.WaitWithoutSlot(ctx, func(ctx context.Context) error {
			reports <- struct{}{}
			select {
			case <-released.Done():
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

func TestWaitWithoutSlot(t *testing.T) {
	t.Parallel()
	conn, waiting, release := serveWaiting(t)
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := bus.ResolveAgent.Call(t.Context(), conn, schemas.AgentQuery{Query: "wait"}); err != nil {
			t.Errorf("the waiting request: %v", err)
		}
	})
	<-waiting
	if _, err := bus.ResolveAgent.Call(t.Context(), conn, schemas.AgentQuery{Query: "q"}); err != nil {
		t.Errorf("another request meanwhile: %v", err)
	}
	release()
	first.Wait()
}

func TestWaitingRequestsAreBoundedPerTenant(t *testing.T) {
	t.Parallel()
	t.Run("callers with a credential of one tenant", func(t *testing.T) {
		t.Parallel()
		testWaitingPerTenant(t, func(ctx context.Context, tenant string) context.Context {
			return bus.WithIdentity(ctx, &schemas.Identity{ID: tenant, Role: schemas.RoleReader, Tenants: []string{tenant}})
		})
	})
	t.Run("callers without a credential", func(t *testing.T) {
		t.Parallel()
		testWaitingPerTenant(t, func(ctx context.Context, _ string) context.Context { return ctx })
	})
}

func testWaitingPerTenant(t *testing.T, as func(ctx context.Context, tenant string) context.Context) {
	conn, waiting, release := serveWaiting(t)
	var released atomic.Bool
	// The only slot is released a moment after the reply.
	call := func(tenant string) (err error) {
		query := schemas.AgentQuery{Query: "wait", QueryOptions: schemas.QueryOptions{TenantID: &tenant}}
		for first := true; first || errors.Is(err, schemas.ErrUnavailable) && !released.Load(); first = false {
			_, err = bus.ResolveAgent.Call(as(t.Context(), tenant), conn, query)
		}
		return err
	}
	var all sync.WaitGroup
	refused := make(chan struct{}, maxWaiting)
	accepted := 0
	for full := false; !full && accepted < maxWaiting; {
		all.Go(func() {
			if errors.Is(call("acme"), schemas.ErrTooManyRequests) {
				refused <- struct{}{}
			}
		})
		select {
		case <-waiting:
			accepted++
		case <-refused:
			full = true
		case <-time.After(wait.Timeout):
			t.Fatal("a request neither waits nor was refused")
		}
	}
	if accepted < maxWaiting/2 || accepted > maxWaiting*9/10 {
		t.Errorf("%d requests of one tenant wait, want most of %d", accepted, maxWaiting)
	}
	all.Go(func() { _ = call("globex") })
	select {
	case <-waiting:
	case <-time.After(wait.Timeout):
		t.Error("a request of another tenant does not wait")
	}
	released.Store(true)
	release()
	all.Wait()
}

// TestSlotAfterFailedWait: a request that continues after an error of its wait holds a slot.
func TestSlotAfterFailedWait(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	service := narrow(t, server)
	failed, entered, finish := errors.New("blocked"), make(chan struct{}), make(chan struct{})
	err := bus.ResolveAgent.Serve(service, func(ctx context.Context, q schemas.AgentQuery) (a schemas.AgentAnswer, err error) {
		if q.Query != "wait" {
			return a, nil
		}
		if err := bus.WaitWithoutSlot(ctx, func(context.Context) error { return failed }); !errors.Is(err, failed) {
			t.Errorf("got %v, want %v", err, failed)
		}
		close(entered)
		<-finish
		return a, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := bus.ResolveAgent.Call(t.Context(), conn, schemas.AgentQuery{Query: "wait"}); err != nil {
			t.Errorf("the waiting request: %v", err)
		}
	})
	<-entered
	if _, err := bus.ResolveAgent.Call(t.Context(), conn, schemas.AgentQuery{Query: "q"}); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("another request: %v, want no free slot", err)
	}
	close(finish)
	first.Wait()
}
