package retry

import "sync/atomic"

const (
	// burst is the maximum number of retries at once. Every ratio requests that succeed without a retry
	// permit another one, so that retries do not add to an overload.
	burst = 100
	ratio = 5
)

// Budget bounds the retries of many requests. It may be used concurrently.
type Budget struct{ units atomic.Int64 } // in 1/ratio of a retry

// NewBudget returns a full budget.
func NewBudget() *Budget {
	b := &Budget{}
	b.units.Store(burst * ratio)
	return b
}

// Refill adds to the budget for a request that succeeded without a retry.
func (b *Budget) Refill() {
	if n := b.units.Load(); n < burst*ratio {
		b.units.CompareAndSwap(n, n+1) // a lost race costs a fraction of a retry
	}
}

// Take takes one retry from the budget and reports whether it was available.
func (b *Budget) Take() bool {
	if b.units.Add(-ratio) >= 0 {
		return true
	}
	b.units.Add(ratio)
	return false
}
