package edge

import (
	"context"
	"math/rand/v2"
	"runtime"
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
	// queueTimeout is the maximum queueing time of an admitted request, and streamQueueTimeout that
	// of a stream. The disconnect of a client is not detected before its body is read.
	queueTimeout       = time.Second
	streamQueueTimeout = 10 * time.Second
	// promptRefusals is the rate of immediate rejections per second. Further
	// ones are delayed by refusalDelay on average, and by at least half of it: one takes about
	// 100 µs of CPU time, and refusals of clients that ignore Retry-After would otherwise
	// use the CPU time of other tenants (BenchmarkFairness).
	promptRefusals = 500
	refusalDelay   = 3 * time.Second
)

var errOverload = schemas.ErrUnavailable.Because("the edge is overloaded: no slot is free for a request of this tenant")

// acquireSlot admits a request of the caller's tenant and waits for its turn to run. The
// caller closes the slot. All callers that may access every tenant, also those without
// authentication, share one tenant here, because the edge does not decode requests; workers divide
// their slots by tenant_id.
func acquireSlot(x *exchange) (*overload.Slot, error) {
	slot := x.edge.overload.Admit(bus.AdmissionKey(x.by, nil))
	if slot == nil {
		return nil, errOverload
	}
	if err := startSlot(x, slot, queueTimeout); err != nil {
		return nil, err
	}
	return slot, nil
}

// startSlot waits until the slot may run. After the timeout it closes the slot and returns
// errOverload.
func startSlot(x *exchange, slot *overload.Slot, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(x.r.Context(), timeout)
	defer cancel()
	if slot.Start(ctx) {
		return nil
	}
	slot.Close()
	if err := x.r.Context().Err(); err != nil {
		return err
	}
	return errOverload
}

// yield lets goroutines that are ready run before work that may not block, such as the answer to a message that
// needs no worker. The gates do not queue such work. Without yield, each of the many short steps of another request
// would wait for that of all connections of one client.
func yield() { runtime.Gosched() }

// isRefusal reports whether err is the refusal of a request under load; other errors of its code
// are not.
func isRefusal(err error) bool {
	return err == error(errOverload) || err == error(errBodyMemory) //nolint:errorlint // they are not wrapped
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

// enterStream counts an event stream of the caller until release is called, and returns its
// slot, for readStreamBody and runStream.
func enterStream(x *exchange) (slot *overload.Slot, release func(), err error) {
	slot = x.edge.streams.Admit(bus.AdmissionKey(x.by, nil))
	if slot == nil {
		return nil, nil, errOverload
	}
	if x.edge.authenticator == nil {
		return slot, slot.Close, nil
	}
	releaseStream, err := x.edge.authenticator.Enter(x.by)
	if err != nil {
		slot.Close()
		return nil, nil, err
	}
	return slot, func() { releaseStream(); slot.Close() }, nil
}

// readStreamBody is readBody for a stream. The stream counts as running for the first 50 ms of the
// transfer.
func readStreamBody(x *exchange, slot *overload.Slot, limit int) (body []byte, err error) {
	if err := startSlot(x, slot, streamQueueTimeout); err != nil {
		return nil, err
	}
	err = slot.IdleAfter(x.r.Context(), func() (err error) {
		body, err = x.readBody(limit)
		return err
	})
	return body, err
}

// runStream calls respond, which sends the response of a stream. The stream counts as running for
// the first 50 ms.
func runStream(x *exchange, slot *overload.Slot, respond func() error) error {
	return slot.IdleAfter(x.r.Context(), func() error {
		defer slot.Close() // a stream that has ended does not wait to run again
		return respond()
	})
}
