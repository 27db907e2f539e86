package bus

import "sync/atomic"

const (
	// retryBurst retries may be sent at once, and after that one for every
	// retryRatio successful requests, so that retries do not add to an overload.
	retryBurst = 100
	retryRatio = 5
)

// retryBudget bounds the retries of a connection. It may be used concurrently.
type retryBudget struct{ units atomic.Int64 } // of 1/retryRatio retry

// newRetryBudget returns a full budget.
func newRetryBudget() *retryBudget {
	b := &retryBudget{}
	b.units.Store(retryBurst * retryRatio)
	return b
}

// refill adds to the budget for a request that succeeded without a retry.
func (b *retryBudget) refill() {
	if n := b.units.Load(); n < retryBurst*retryRatio {
		b.units.CompareAndSwap(n, n+1) // a lost race costs a fraction of a retry
	}
}

// take takes one retry from the budget and reports whether it was available.
func (b *retryBudget) take() bool {
	if b.units.Add(-retryRatio) >= 0 {
		return true
	}
	b.units.Add(retryRatio)
	return false
}
