package bus

import (
	"errors"
	"fmt"
	"time"

	"cairn/schemas"
)

// errLeft is the cause of a stream's end when nobody listens any more.
var errLeft = errors.New("the caller left")

// Continue implements Sender.
func (w *session) Continue() {
	w.stays.Store(true)
}

// left notes that nobody listens. The worker is not slowed down by that, but
// ended, or left to itself; that of a run after a while.
func (w *session) left() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stays.Load():
	case !w.isRun:
		w.cancel(errLeft)
	case w.leaving == nil:
		w.leaving = time.AfterFunc(w.patience, w.desert)
	}
	w.missed = time.Now()
	w.alone.Store(true)
	w.wake()
}

// desert ends the work, and says so for who asks later, unless a sign of life was heard of late: by one who
// listens and does not say so.
func (w *session) desert() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaving = nil
	if time.Since(w.missed) < 2*heartbeat {
		w.cancel(schemas.ErrRunStopped.Because(fmt.Sprintf("nobody listened for %v", w.patience)))
	}
}

// returned notes that somebody listens.
func (w *session) returned() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alone.Store(false)
	if w.leaving != nil {
		w.leaving.Stop()
		w.leaving = nil
	}
}
