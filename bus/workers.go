package bus

import (
	"context"
	"sync"
)

// maxIdle is the maximum number of idle goroutines of a service. More than the
// number of processors seldom help.
const maxIdle = 16

// workers run each request in its own goroutine and reuse idle ones: the stack of a new
// one grows step by step, which costs a request several microseconds.
type workers struct {
	next chan func()
	idle chan struct{}
	all  sync.WaitGroup
}

func newWorkers() *workers {
	return &workers{next: make(chan func()), idle: make(chan struct{}, maxIdle)}
}

// do runs work without waiting for it. After ctx has ended, no goroutine stays idle.
func (w *workers) do(ctx context.Context, work func()) {
	select {
	case w.next <- work:
	default:
		w.all.Go(func() { w.run(ctx, work) })
	}
}

func (w *workers) run(ctx context.Context, work func()) {
	for {
		work()
		select {
		case w.idle <- struct{}{}:
		default:
			return
		}
		select {
		case work = <-w.next:
			<-w.idle
		case <-ctx.Done():
			return
		}
	}
}
