package ollama

import (
	"context"
	"sync"
	"time"
)

// watch finds out that the server hangs. Ollama loses a request slot now and
// then when a client disconnects; when all are lost, which by default is the
// first time, requests to that model wait for ever. A server that speaks to
// any request is busy, not hung: only silence towards all counts.
type watch struct {
	patience time.Duration

	mu      sync.Mutex
	waiting map[*wait]struct{} // requests that have heard nothing yet
	heard   int                // pieces of answers, to all requests ever
}

// wait is a request that has heard nothing yet.
type wait struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	heard  int // watch.heard when the timer was set
}

func newWatch(patience time.Duration) *watch {
	return &watch{patience: patience, waiting: map[*wait]struct{}{}}
}

// begin watches a request, which is canceled with errSilent when the server
// hangs. The caller tells what it hears, and the end.
func (w *watch) begin(cancel context.CancelCauseFunc) *wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &wait{cancel: cancel, heard: w.heard}
	r.timer = time.AfterFunc(w.patience, func() { w.expire(r) })
	w.waiting[r] = struct{}{}
	return r
}

// hear notes that the server speaks to r, which no longer waits.
func (w *watch) hear(r *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard++
	w.drop(r)
}

// end is the end of r, heard or not.
func (w *watch) end(r *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(r)
}

func (w *watch) drop(r *wait) {
	r.timer.Stop()
	delete(w.waiting, r)
}

// expire gives r more time when the server has spoken meanwhile, and otherwise
// cancels all that wait: each holds on to the model, which could not be
// unloaded.
func (w *watch) expire(r *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.waiting[r]; !ok {
		return
	}
	if w.heard != r.heard {
		r.heard = w.heard
		r.timer.Reset(w.patience)
		return
	}
	for o := range w.waiting {
		o.cancel(errSilent)
		w.drop(o)
	}
}
