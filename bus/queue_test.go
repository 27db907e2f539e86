package bus_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// blockedTags serves bus.ReadTag with requests that wait until release. It counts those of each tenant that have begun.
type blockedTags struct {
	conn    *bus.Conn
	release context.CancelFunc
	mu      sync.Mutex
	begun   map[string]int
}

func blockTags(t *testing.T) *blockedTags {
	t.Helper()
	b := &blockedTags{conn: bustest.Open(t), begun: map[string]int{}}
	released, release := context.WithCancel(t.Context())
	b.release = release
	s := bustest.Service(t, b.conn, "tags")
	bustest.Must(t, bus.ReadTag.Serve(s, func(ctx context.Context, _ schemas.TagKey) (tag schemas.TagFound, err error) {
		b.mu.Lock()
		b.begun[bus.Identity(ctx).Tenants[0]]++
		b.mu.Unlock()
		<-released.Done()
		return tag, nil
	}))
	return b
}

// read sends a request of the tenant.
func (b *blockedTags) read(ctx context.Context, tenant string) error {
	identity := &schemas.Identity{ID: tenant, Tenants: []string{tenant}, Role: schemas.RoleReader}
	_, err := bus.ReadTag.Call(bus.WithIdentity(ctx, identity), b.conn, schemas.TagKey{RequestID: "a", TenantID: &tenant})
	return err
}

// readOther sends a request of another tenant, and returns when it is handled.
func (b *blockedTags) readOther(t *testing.T, callers *sync.WaitGroup) {
	t.Helper()
	callers.Go(func() {
		if err := b.read(t.Context(), "globex"); err != nil {
			t.Errorf("another tenant: %v", err)
		}
	})
	wait.Until(t, "the request of another tenant is sent", func() bool { return b.requests("globex") == 1 })
}

func (b *blockedTags) requests(tenant string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begun[tenant]
}

// TestQueue sends more requests of one tenant than a connection has in flight on a subject: the others wait, those of
// another tenant are sent, and a request whose caller disconnects stops waiting.
func TestQueue(t *testing.T) {
	t.Parallel()
	b := blockTags(t)
	var callers sync.WaitGroup
	defer callers.Wait()
	defer b.release()
	share := min(32*runtime.GOMAXPROCS(0), 512) * 4 / 5
	for range share + 10 {
		callers.Go(func() {
			if err := b.read(t.Context(), "acme"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Until(t, "the share of the tenant is in flight", func() bool { return b.requests("acme") == share })
	b.readOther(t, &callers)
	caller, disconnect := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- b.read(bus.WithCaller(t.Context(), caller), "acme") }()
	disconnect()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a disconnected caller: got %v, want %v", err, context.Canceled)
	}
	if n := b.requests("acme"); n != share {
		t.Errorf("%d requests of the tenant are in flight, want %d", n, share)
	}
	expired, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	if err := b.read(expired, "acme"); !bus.Busy(err) {
		t.Errorf("a deadline in the queue: got %v, want a request that can be retried", err)
	}
}

// TestDisconnectedCallersHoldTheirSlot disconnects callers whose requests were sent: these count until the reply.
func TestDisconnectedCallersHoldTheirSlot(t *testing.T) {
	t.Parallel()
	b := blockTags(t)
	var callers sync.WaitGroup
	defer callers.Wait()
	defer b.release()
	caller, disconnect := context.WithCancel(t.Context())
	share := min(32*runtime.GOMAXPROCS(0), 512) * 4 / 5
	for range share {
		callers.Go(func() {
			if err := b.read(bus.WithCaller(t.Context(), caller), "acme"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Until(t, "the share of the tenant is in flight", func() bool { return b.requests("acme") == share })
	disconnect()
	expired, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := b.read(expired, "acme"); !bus.Busy(err) || b.requests("acme") != share {
		t.Errorf("got %v and %d requests in flight, want none beyond %d", err, b.requests("acme"), share)
	}
}

// TestQueueIsBounded sends requests of one tenant until they are refused.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	b := blockTags(t)
	var callers sync.WaitGroup
	defer callers.Wait()
	defer b.release()
	refused := make(chan error, 1024)
	for range 1024 {
		callers.Go(func() {
			if err := b.read(t.Context(), "acme"); err != nil {
				refused <- err
			}
		})
	}
	if err := <-refused; !bus.Busy(err) || !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
	}
	b.readOther(t, &callers)
}
