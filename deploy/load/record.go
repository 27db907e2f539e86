package load

import (
	"context"
	"sync"
	"time"
)

// recorder collects the answers to the requests of one operation.
type recorder struct {
	do func(context.Context, int) Answer

	mu    sync.Mutex
	whole *Measured
	first *Measured // until the first event of a stream; nil for others
}

func newRecorder(o Operation) *recorder {
	r := &recorder{do: o.Do, whole: newMeasured(o.Name)}
	if o.Stream {
		r.first = newMeasured(o.Name + " first event")
	}
	return r
}

// add records the answer to a request that was due.
func (r *recorder) add(due, done time.Time, a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.whole.add(done.Sub(due), a.Err)
	switch {
	case r.first == nil:
	case a.First.IsZero():
		r.first.add(done.Sub(due), a.Err)
	default:
		r.first.add(a.First.Sub(due), "")
	}
}

// measured returns the measurement over the elapsed time.
func (r *recorder) measured(took time.Duration) []*Measured {
	list := []*Measured{r.whole}
	if r.first != nil {
		list = []*Measured{r.first, r.whole}
	}
	for _, m := range list {
		m.Seconds = took.Seconds()
	}
	return list
}
