package bus

import (
	"context"
	"errors"
	"sync"

	"cairn/bus/admission"
	"cairn/schemas"
)

// maxPending bounds the requests of one subject that a connection has sent or that wait.
const maxPending = 1024

// queues holds the requests of a connection by subject. A worker receives the requests of a subject in the order in
// which they were sent: without a limit for those in flight, a request would wait there for all earlier ones of other
// tenants.
type queues struct{ subjects sync.Map }

func (q *queues) subject(subject string) *admission.Queue {
	if value, ok := q.subjects.Load(subject); ok {
		return value.(*admission.Queue)
	}
	value, _ := q.subjects.LoadOrStore(subject, admission.NewQueue(maxPending))
	return value.(*admission.Queue)
}

// errPending is the error of a request beyond the tenant's share of maxPending.
var errPending = taggedError{
	schemas.ErrUnavailable.Because("overloaded: too many requests of this tenant wait for a worker"), errBusy,
}

// enter waits until a request of the tenant may be sent. It returns errPending if too many requests wait or ctx
// exceeds its deadline, and context.Canceled if ctx or the caller (WithCaller) is canceled. After nil, the caller of
// enter calls Leave.
func enter(ctx context.Context, queue *admission.Queue, tenant string) error {
	ctx, cancel := withCaller(ctx)
	defer cancel()
	err := queue.Enter(ctx, tenant)
	if errors.Is(err, admission.ErrFull) {
		return errPending
	}
	return err
}
