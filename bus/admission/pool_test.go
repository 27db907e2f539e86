package admission_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"cairn/bus/admission"
)

// acquireAll acquires units for the tenant until the pool refuses, and returns how
// many.
func acquireAll(p *admission.Pool, tenant string) (total int64) {
	for p.Acquire(tenant, 1) {
		total++
	}
	return total
}

func TestPoolSharesCapacity(t *testing.T) {
	t.Parallel()
	p := admission.NewPool(1000)
	if got := acquireAll(p, "noisy"); got != 800 {
		t.Errorf("a single tenant got %d of 1000, want 800", got)
	}
	if got := acquireAll(p, "quiet"); got < 100 {
		t.Errorf("a second tenant got %d of the 200 that are free, want at least 100", got)
	}
	if !p.Acquire("third", 1) {
		t.Error("a tenant that holds nothing was refused")
	}
	p.Release("noisy", 800)
	if got := acquireAll(p, "quiet"); got < 400 {
		t.Errorf("after the first tenant released its units, the second got %d more, want at least 400", got)
	}
}

func TestPoolNeverExceedsCapacity(t *testing.T) {
	t.Parallel()
	p := admission.NewPool(10)
	if p.Acquire("a", 11) {
		t.Error("more than the capacity was granted")
	}
	if !p.Acquire("a", 10) {
		t.Error("a tenant that holds nothing did not get all units of an empty pool")
	}
	if p.Acquire("b", 1) {
		t.Error("a full pool granted more")
	}
	p.Release("a", 10)
	if total, tenants := p.Held(); total != 0 || len(tenants) != 0 {
		t.Errorf("an empty pool holds %d for %v", total, tenants)
	}
}

func TestWaitingTenantThatHoldsTheLeastIsNext(t *testing.T) {
	t.Parallel()
	p := admission.NewPool(5)
	if got := acquireAll(p, "noisy"); got != 4 {
		t.Fatalf("got %d of 5, want 4", got)
	}
	if !p.Acquire("quiet", 1) {
		t.Fatal("a tenant that holds nothing was refused")
	}
	granted := make(chan string)
	for _, tenant := range []string{"noisy", "third"} {
		go func() {
			if p.Wait(t.Context(), tenant, 1) == nil {
				granted <- tenant
			}
		}()
	}
	for p.Queued() < 2 {
		runtime.Gosched()
	}
	p.Release("noisy", 1)
	if got := <-granted; got != "third" {
		t.Errorf("the unit went to %s, want third, which holds nothing", got)
	}
	p.Release("noisy", 3)
	if got := <-granted; got != "noisy" {
		t.Errorf("the unit went to %s, want noisy", got)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := admission.NewPool(1)
	p.Acquire("a", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx, "b", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	p.Release("a", 1)
	if held, queued := p.Used(), p.Queued(); held != 0 || queued != 0 {
		t.Errorf("an abandoned wait left %d units held, %d queued", held, queued)
	}
}

func TestMoveRespectsShare(t *testing.T) {
	t.Parallel()
	p := admission.NewPool(10)
	for range 8 {
		if !p.Acquire("", 1) || !p.Move("", "noisy", 1) {
			t.Fatal("a unit within the share was refused")
		}
	}
	if !p.Acquire("", 1) || p.Move("", "noisy", 1) || !p.Move("", "quiet", 1) {
		t.Error("want a unit beyond the share of one tenant refused, and granted to another")
	}
	if _, tenants := p.Held(); tenants["noisy"] != 8 || tenants["quiet"] != 1 || tenants[""] != 0 {
		t.Errorf("got %v", tenants)
	}
}

// TestDrain: Drain returns when the last unit is released, and no more units are granted.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := admission.NewPool(10)
		if !p.Acquire("a", 1) || !p.Acquire("b", 1) {
			t.Fatal("two units of ten were not granted")
		}
		var drained atomic.Bool
		go func() { p.Drain(); drained.Store(true) }()
		synctest.Wait()
		if p.Acquire("c", 1) {
			t.Error("a unit was granted during Drain")
		}
		p.Release("a", 1)
		synctest.Wait()
		if drained.Load() {
			t.Error("Drain returned while a unit was held")
		}
		p.Release("b", 1)
		synctest.Wait()
		if !drained.Load() {
			t.Error("Drain did not return when no units were held")
		}
	})
}
