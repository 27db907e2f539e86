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
	// maxPending bounds the requests of one subject that a connection has sent or that wait for the limit.
	maxPending = 1024
)

// queue limits the requests of a connection that are in flight on one subject, and divides them among tenants.
type queue struct{ pending, inFlight *admission.Pool }

func newQueue() *queue {
	inFlight := min(requestsPerCPU*runtime.GOMAXPROCS(0), maxPending/2)
	return &queue{admission.NewPool(maxPending), admission.NewPool(int64(inFlight))}
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

// enter waits until a request of the tenant may be sent. It returns errPending if too many requests wait or ctx
// exceeds its deadline, and context.Canceled if ctx or the caller (WithCaller) is canceled. After nil, the caller of
// enter calls leave.
func (q *queue) enter(ctx context.Context, tenant string) error {
	if !q.pending.Acquire(tenant, 1) {
		return errPending
	}
	if q.inFlight.Acquire(tenant, 1) {
		return nil
	}
	ctx, cancel := withCaller(ctx)
	defer cancel()
	err := q.inFlight.Wait(ctx, tenant, 1)
	if err != nil {
		q.pending.Release(tenant, 1)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errPending
	}
	return err
}

func (q *queue) leave(tenant string) {
	q.inFlight.Release(tenant, 1)
	q.pending.Release(tenant, 1)
}
