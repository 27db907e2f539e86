package edge

import (
	"math/rand/v2"
	"time"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

const (
	// maxRequests bounds the requests in flight of an edge that runs apart from workers, and maxStreams its open
	// event streams. Both are divided among tenants.
	maxRequests = 1024
	maxStreams  = 4096
	// promptRefusals is the rate of immediate rejections per second. Further
	// ones are delayed by refusalDelay on average, and by at least half of it: one takes about
	// 100 µs of CPU time, and refusals of clients that ignore Retry-After would otherwise
	// use the CPU time of other tenants (BenchmarkFairness).
	promptRefusals = 500
	refusalDelay   = 3 * time.Second
)

var errOverload = schemas.ErrUnavailable.Because("the edge is overloaded: no slot is free for a request of this tenant")

// isRefusal reports whether err is the refusal of a request under load, by the edge or by every worker; other errors
// of its code are not.
func isRefusal(err error) bool {
	return err == error(errOverload) || err == error(errBodyMemory) || bus.Busy(err) //nolint:errorlint // the first two are not wrapped
}

// refuse counts a refusal and returns its reason, after a delay if the rate exceeds promptRefusals.
func refuse(x *exchange, reason error) error {
	telemetry.HTTPRefused.Inc()
	if x.edge.refusals.Allow() {
		return reason
	}
	delay := time.NewTimer(refusalDelay/2 + rand.N(refusalDelay))
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-x.r.Context().Done():
	}
	return reason
}

// enterStream counts an event stream of the caller until release is called.
func enterStream(x *exchange) (release func(), err error) {
	tenant := bus.AdmissionKey(x.by, nil)
	if !x.edge.streams.Acquire(tenant, 1) {
		return nil, errOverload
	}
	if x.edge.authenticator == nil {
		return func() { x.edge.streams.Release(tenant, 1) }, nil
	}
	releaseStream, err := x.edge.authenticator.Enter(x.by)
	if err != nil {
		x.edge.streams.Release(tenant, 1)
		return nil, err
	}
	return func() { releaseStream(); x.edge.streams.Release(tenant, 1) }, nil
}
