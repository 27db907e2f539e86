package bus

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"cairn/schemas"
)

// flow keeps a worker from running away from a slow caller.
type flow struct {
	window uint64 // 0: the caller takes all as it comes
	read   atomic.Uint64
	moved  chan struct{} // has something when the caller has read on
}

func newFlow(header string) flow {
	window, _ := strconv.ParseUint(header, 10, 64) // absent: 0
	return flow{window: window, moved: make(chan struct{}, 1)}
}

// caughtUp notes that the caller has read the events up to n.
func (f *flow) caughtUp(n uint64) {
	f.read.Store(n)
	f.wake()
}

// wake has one who waits look again.
func (f *flow) wake() {
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// admit waits until another event may follow those that were sent.
func (f *flow) admit(ctx context.Context, sent uint64) error {
	if f.window == 0 || sent < f.read.Load()+f.window {
		return nil // nearly always, and without a timer
	}
	patience := time.NewTimer(stall)
	defer patience.Stop()
	for sent >= f.read.Load()+f.window {
		select {
		case <-f.moved:
		case <-patience.C:
			return schemas.ErrUnavailable.Because("the caller does not read what comes")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	f.wake() // another one may wait, too
	return nil
}
