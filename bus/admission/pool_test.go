package admission_test

import (
	"testing"

	"cairn/bus/admission"
)

// acquireAll takes units of n for the tenant until the pool refuses, and
// returns how many units the tenant got.
func acquireAll(p *admission.Pool, tenant string, n int64) (total int64) {
	for p.Acquire(tenant, n) {
		total += n
	}
	return total
}

func TestPoolSharesCapacity(t *testing.T) {
	t.Parallel()
	p := admission.NewPool(1000)
	if got := acquireAll(p, "noisy", 1); got != 800 {
		t.Errorf("a tenant that is alone got %d of 1000, want 800", got)
	}
	if got := acquireAll(p, "quiet", 1); got < 100 {
		t.Errorf("a second tenant got %d of the 200 that are free, want at least 100", got)
	}
	if !p.Acquire("third", 1) {
		t.Error("a tenant that holds nothing was refused")
	}
	p.Release("noisy", 800)
	if got := acquireAll(p, "quiet", 1); got < 400 {
		t.Errorf("after the first tenant left, the second got %d more, want at least 400", got)
	}
}

func TestPoolNeverExceedsCapacity(t *testing.T) {
	t.Parallel()
	p := admission.NewPool(10)
	if p.Acquire("a", 11) {
		t.Error("more than the capacity was granted")
	}
	if !p.Acquire("a", 10) {
		t.Error("a tenant that holds nothing did not get the whole of an empty pool")
	}
	if p.Acquire("b", 1) {
		t.Error("a full pool granted more")
	}
	p.Release("a", 10)
	p.Resize(4)
	if p.Acquire("a", 5) {
		t.Error("more than the reduced capacity was granted")
	}
	if total, tenants := p.Held(); total != 0 || len(tenants) != 0 {
		t.Errorf("an empty pool holds %d for %v", total, tenants)
	}
}
