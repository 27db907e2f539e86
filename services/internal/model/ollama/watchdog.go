package ollama

import (
	"context"
	"sync"
	"time"
)

// watchdog detects a stalled server. Ollama occasionally loses a request slot when a
// client disconnects; once it has lost all, by default after the first, requests to the
// model block forever. A server that sends data to any request is busy, not stalled.
type watchdog struct {
	timeout time.Duration

	mu       sync.Mutex
	waiting  map[*wait]struct{} // requests without data
	received int                // number of pieces received by all requests
}

// wait is a request that has received no data.
type wait struct {
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	received int // watchdog.received when the timer was set
}

func newWatchdog(timeout time.Duration) *watchdog {
	return &watchdog{timeout: timeout, waiting: map[*wait]struct{}{}}
}

// start watches a request, and cancels it with errStalled when the server stalls. The
// caller reports data and the end of the request.
func (w *watchdog) start(cancel context.CancelCauseFunc) *wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &wait{cancel: cancel, received: w.received}
	r.timer = time.AfterFunc(w.timeout, func() { w.expire(r) })
	w.waiting[r] = struct{}{}
	return r
}

// data records that r has received data, which ends its wait.
func (w *watchdog) data(r *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received++
	w.remove(r)
}

// end stops watching r.
func (w *watchdog) end(r *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(r)
}

func (w *watchdog) remove(r *wait) {
	r.timer.Stop()
	delete(w.waiting, r)
}

// expire resets the timer of r if any request has received data since, and otherwise
// cancels all waiting requests: each of them keeps the model from being unloaded.
func (w *watchdog) expire(r *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.waiting[r]; !ok {
		return
	}
	if w.received != r.received {
		r.received = w.received
		r.timer.Reset(w.timeout)
		return
	}
	for o := range w.waiting {
		o.cancel(errStalled)
		w.remove(o)
	}
}
