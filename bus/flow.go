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
	alone  atomic.Bool   // nobody reads, and so nobody is slow
	stays  atomic.Bool   // the work goes on, whoever reads
	moved  chan struct{} // has something when the caller has read on
}

func newFlow(header string) flow {
	window, _ := strconv.ParseUint(header, 10, 64) // absent: 0
	return flow{window: window, moved: make(chan struct{}, 1)}
}

// caughtUp notes that a caller has read the events up to n. Of several the
// fastest counts. It is not called concurrently.
func (f *flow) caughtUp(n uint64) {
	f.read.Store(max(n, f.read.Load()))
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
	if f.open(sent) {
		return nil // nearly always, and without a timer
	}
	patience := time.NewTimer(stall)
	defer patience.Stop()
	for !f.open(sent) {
		select {
		case <-f.moved:
			patience.Reset(stall)
		case <-patience.C:
			if f.stays.Load() {
				f.alone.Store(true)
				continue
			}
			return schemas.ErrUnavailable.Because("the caller does not read what comes")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	f.wake() // another one may wait, too
	return nil
}

// open reports whether another event may follow those that were sent.
func (f *flow) open(sent uint64) bool {
	return f.window == 0 || f.alone.Load() || sent < f.read.Load()+f.window
}
