package load

import (
	"context"
	"sync"
	"time"
)

const (
	// slots is the number of parts of a measurement.
	slots = 30
	// shortestSlot is the minimum length of a slot.
	shortestSlot = 100 * time.Millisecond
)

// recorder collects the answers to the requests of one operation.
type recorder struct {
	do   func(context.Context, int) Answer
	slot time.Duration

	mu    sync.Mutex
	whole *Measured
	first *Measured // until the first event of a stream; nil for others
}

func newRecorder(o Operation, length time.Duration) *recorder {
	slot := max(length/slots, shortestSlot)
	n := int((length + slot - 1) / slot)
	r := &recorder{do: o.Do, slot: slot, whole: newMeasured(o.Name, n, slot)}
	if o.Stream {
		r.first = newMeasured(o.Name+" first event", n, slot)
	}
	return r
}

// add records the answer to a request that was scheduled at an offset.
func (r *recorder) add(offset time.Duration, due, done time.Time, a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := int(offset / r.slot)
	r.whole.add(at, done.Sub(due), a.Err)
	switch {
	case r.first == nil:
	case a.First.IsZero():
		r.first.add(at, done.Sub(due), a.Err)
	default:
		r.first.add(at, a.First.Sub(due), "")
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
		m.Slots = m.Slots[:min(len(m.Slots), int((took+r.slot-1)/r.slot))]
	}
	return list
}
