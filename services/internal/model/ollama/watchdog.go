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
	reading  time.Duration      // for reading the prompts of all waiting requests, one by one
	received int                // number of pieces received by all requests
}

// wait is a request that has received no data.
type wait struct {
	cancel    context.CancelCauseFunc
	timer     *time.Timer
	reading   time.Duration // for reading the prompt
	allowance time.Duration // watchdog.allowance when the timer was set
	received  int           // watchdog.received when the timer was set
}

func newWatchdog(timeout time.Duration) *watchdog {
	return &watchdog{timeout: timeout, waiting: map[*wait]struct{}{}}
}

// allowance is the time in which a server that is alive sends data to a waiting request.
func (w *watchdog) allowance() time.Duration { return w.timeout + w.reading }

// start watches a request whose prompt takes up to reading, and cancels it with errStalled
// when the server stalls. The caller reports data and the end of the request.
func (w *watchdog) start(cancel context.CancelCauseFunc, reading time.Duration) *wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading += reading
	r := &wait{cancel: cancel, reading: reading, allowance: w.allowance(), received: w.received}
	r.timer = time.AfterFunc(r.allowance, func() { w.expire(r) })
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
	if _, ok := w.waiting[r]; ok {
		w.reading -= r.reading
		delete(w.waiting, r)
	}
}

// expire resets the timer of r if any request has received data or begun to wait since, and
// otherwise cancels all waiting requests: each of them keeps the model from being unloaded.
func (w *watchdog) expire(r *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.waiting[r]; !ok {
		return
	}
	elapsed := r.allowance
	if w.received != r.received {
		elapsed = 0
	}
	if extension := w.allowance() - elapsed; extension > 0 {
		r.received, r.allowance = w.received, w.allowance()
		r.timer.Reset(extension)
		return
	}
	for o := range w.waiting {
		o.cancel(errStalled)
		w.remove(o)
	}
}
