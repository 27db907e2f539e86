package ollama

import (
	"context"
	"time"
)

const (
	// unloadTimeout bounds unloading a model.
	unloadTimeout = 10 * time.Second
	// unloadPoll is the interval of checks for a loaded model.
	unloadPoll = 50 * time.Millisecond
)

// reloads counts the reloads of the model. It is also a lock: a goroutine that receives the count holds
// the lock until it sends the count back.
type reloads chan int

func newReloads() reloads {
	r := make(reloads, 1)
	r <- 0
	return r
}

// count returns the number of reloads. It waits while one is in progress.
func (r reloads) count(ctx context.Context) (int, error) {
	select {
	case n := <-r:
		r <- n
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
