package admission

import (
	"context"
	"errors"
	"runtime"
)

// perCPU is the number of requests that a Queue has in progress for each CPU: enough to use it while requests wait for
// replies, and few enough that the request of another tenant does not wait for many.
const perCPU = 32

// ErrFull is the error of a request for which a Queue has no place, or no place in time.
var ErrFull = errors.New("too many requests of this tenant wait")

// Queue limits the requests in progress, and those that wait, and divides both among tenants.
type Queue struct{ pending, active *Pool }

// NewQueue returns a queue for requests of which at most capacity are in progress or wait.
func NewQueue(capacity int) *Queue {
	active := min(perCPU*runtime.GOMAXPROCS(0), capacity/2)
	return &Queue{NewPool(int64(capacity)), NewPool(int64(active))}
}

// Enter waits until a request of the tenant may begin. It returns ErrFull if too many requests wait or ctx exceeds its
// deadline, and context.Canceled if ctx is canceled. After nil, the caller calls Leave.
func (q *Queue) Enter(ctx context.Context, tenant string) error {
	if !q.pending.Acquire(tenant, 1) {
		return ErrFull
	}
	err := q.active.Wait(ctx, tenant, 1)
	if err != nil {
		q.pending.Release(tenant, 1)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrFull
	}
	return err
}

// Leave ends a request.
func (q *Queue) Leave(tenant string) {
	q.active.Release(tenant, 1)
	q.pending.Release(tenant, 1)
}
