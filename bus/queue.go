package bus

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"cairn/bus/admission"
	"cairn/schemas"
)

const (
	// requestsPerCPU is the concurrency limit of a connection for the requests of one subject, for each CPU. A worker
	// receives the requests of a subject in the order in which they were sent: without the limit, a request would
	// wait there for all earlier ones of other tenants.
	requestsPerCPU = 32
	// bytesPerUnit is the size of the body for which a request counts as one more: the work of a worker grows with it.
	bytesPerUnit = 512
	// maxPending bounds the requests of one subject that a connection has sent or that wait for the limit.
	maxPending = 1024
)

// queue limits the requests of a connection that are in flight on one subject, and divides them among tenants.
type queue struct {
	capacity          int64
	pending, inFlight *admission.Pool
}

func newQueue() *queue {
	capacity := int64(requestsPerCPU * runtime.GOMAXPROCS(0))
	return &queue{capacity, admission.NewPool(maxPending), admission.NewPool(capacity)}
}

// queues holds the queues of a connection by subject.
type queues struct{ subjects sync.Map }

func (q *queues) subject(subject string) *queue {
	if value, ok := q.subjects.Load(subject); ok {
		return value.(*queue)
	}
	value, _ := q.subjects.LoadOrStore(subject, newQueue())
	return value.(*queue)
}

// errPending is the error of a request beyond the tenant's share of maxPending.
var errPending = taggedError{
	schemas.ErrUnavailable.Because("overloaded: too many requests of this tenant wait for a worker"), errBusy,
}

// units returns what a request with a body of size bytes counts as, at most a quarter of the capacity.
func (q *queue) units(size int) int64 { return min(1+int64(size)/bytesPerUnit, q.capacity/4) }

// enter waits until a request of the tenant may be sent. It returns errPending if too many requests wait or ctx
// exceeds its deadline, and context.Canceled if ctx or the caller (WithCaller) is canceled. After nil, the caller of
// enter calls leave.
func (q *queue) enter(ctx context.Context, tenant string, units int64) error {
	if !q.pending.Acquire(tenant, 1) {
		return errPending
	}
	if q.inFlight.Acquire(tenant, units) {
		return nil
	}
	ctx, cancel := withCaller(ctx)
	defer cancel()
	err := q.inFlight.Wait(ctx, tenant, units)
	if err != nil {
		q.pending.Release(tenant, 1)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errPending
	}
	return err
}

func (q *queue) leave(tenant string, units int64) {
	q.inFlight.Release(tenant, units)
	q.pending.Release(tenant, 1)
}
