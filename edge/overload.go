package edge

import (
	"context"
	"math/rand/v2"
	"time"

	"cairn/bus"
	"cairn/bus/overload"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

const (
	// maxRequests bounds the requests in flight of an edge, running or queued, and
	// maxStreams its open event streams. Both are divided among tenants.
	maxRequests = 1024
	maxStreams  = 4096
	// queueTimeout is the maximum queueing time of an admitted request.
	queueTimeout = time.Second
	// promptRefusals is the rate of immediate rejections per second. Further
	// ones are delayed by refusalDelay on average, and by at least half of it: one takes about
	// 100 µs of CPU time, and refusals of clients that ignore Retry-After would otherwise
	// use the CPU time of other tenants (BenchmarkFairness).
	promptRefusals = 500
	refusalDelay   = 3 * time.Second
)

var errOverload = schemas.ErrUnavailable.Because("the edge is overloaded: no slot is free for a request of this tenant")

// acquireSlot admits a request of the caller's tenant and waits for its turn to run. The
// caller closes the slot. Without authentication all callers share one tenant here,
// because the edge does not decode requests; workers divide their slots by tenant_id.
func acquireSlot(x *exchange) (*overload.Slot, error) {
	slot := x.edge.overload.Admit(bus.ShareKey(x.by, nil))
	if slot == nil {
		return nil, overloaded(x)
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), queueTimeout)
	defer cancel()
	if slot.Start(ctx) {
		return slot, nil
	}
	slot.Close()
	if err := x.r.Context().Err(); err != nil {
		return nil, err
	}
	return nil, overloaded(x)
}

// overloaded refuses the request, immediately or after a delay; see promptRefusals.
func overloaded(x *exchange) error {
	telemetry.HTTPRefused()
	if x.edge.refusals.Allow() {
		return errOverload
	}
	delay := time.NewTimer(refusalDelay/2 + rand.N(refusalDelay))
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-x.r.Context().Done():
	}
	return errOverload
}

// enterStream counts an event stream of the caller until release is called.
func enterStream(x *exchange) (release func(), err error) {
	tenant := bus.ShareKey(x.by, nil)
	if !x.edge.streams.Acquire(tenant, 1) {
		return nil, overloaded(x)
	}
	if x.edge.gate == nil {
		return func() { x.edge.streams.Release(tenant, 1) }, nil
	}
	releaseStream, err := x.edge.gate.Enter(x.by)
	if err != nil {
		x.edge.streams.Release(tenant, 1)
		return nil, err
	}
	return func() { releaseStream(); x.edge.streams.Release(tenant, 1) }, nil
}
