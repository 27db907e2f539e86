package bus

import (
	"context"
	"sync"
)

// resting is how many goroutines of a service wait for the next request. More
// than there are processors would seldom run at a time.
const resting = 16

// workers run requests, each in a goroutine of its own. One that has run a
// request takes the next: a new one's stack grows step by step, which takes
// several microseconds of a request.
type workers struct {
	next    chan func()
	resting chan struct{}
	all     sync.WaitGroup
}

func newWorkers() *workers {
	return &workers{next: make(chan func()), resting: make(chan struct{}, resting)}
}

// do runs work, and does not wait for it. Once ctx has ended, nobody rests.
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
		case w.resting <- struct{}{}:
		default:
			return
		}
		select {
		case work = <-w.next:
			<-w.resting
		case <-ctx.Done():
			return
		}
	}
}
