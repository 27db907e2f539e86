package bus

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"cairn/schemas"
)

// flow is the worker's flow control: a window of events that the client grants.
type flow struct {
	window     uint64 // 0: the client uses no flow control
	read       atomic.Uint64
	detached   atomic.Bool   // no client is attached: flow control is off
	persistent atomic.Bool   // the run continues without a client
	moved      chan struct{} // signalled when read or detached changes
}

func newFlow(header string) flow {
	window, _ := strconv.ParseUint(header, 10, 64) // absent: 0
	return flow{window: window, moved: make(chan struct{}, 1)}
}

// acknowledge records that a client has read the events up to n. With several clients,
// the highest n applies. It must not be called concurrently.
func (f *flow) acknowledge(n uint64) {
	f.read.Store(max(n, f.read.Load()))
	f.wake()
}

// wake signals one waiting admit.
func (f *flow) wake() {
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// admit waits until the window has room for another event after those sent.
func (f *flow) admit(ctx context.Context, sent uint64) error {
	timer := time.NewTimer(stallTimeout)
	defer timer.Stop()
	for !f.open(sent) {
		select {
		case <-f.moved:
			timer.Reset(stallTimeout)
		case <-timer.C:
			if f.persistent.Load() {
				f.detached.Store(true)
				continue
			}
			return schemas.ErrUnavailable.Because("the client does not read the stream")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	f.wake() // another admit may be waiting
	return nil
}

// open reports whether the window has room for another event after those sent.
func (f *flow) open(sent uint64) bool {
	return f.window == 0 || f.detached.Load() || sent < f.read.Load()+f.window
}
