package bus

import (
	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

// keptSize is how many bytes of events are gathered before they go to what is
// kept. All of them go with each sign of life, when a caller comes back, and at
// the end.
const keptSize = 8 << 10

// publishFrame sends an event of a run, and has it kept. w.mu is held.
func (w *session) publishFrame(e Event) error {
	if len(w.keeping)+len(e.Data) > w.largest {
		w.keep()
	}
	before := len(w.keeping)
	w.keeping = e.Append(w.keeping)
	if err := w.conn.nc.Publish(w.reply, w.keeping[before:]); err != nil {
		w.keeping = w.keeping[:before]
		return err
	}
	if len(w.keeping) >= keptSize {
		w.keep()
	}
	return nil
}

// keep sends what was said to where it is kept. w.mu is held.
func (w *session) keep() {
	if len(w.keeping) == 0 {
		return
	}
	_ = w.conn.nc.Publish(w.control+keptToken, w.keeping) // who comes back for it is told that it is missing
	w.keeping = w.keeping[:0]
}

// flush is keep, for whoever does not hold w.mu.
func (w *session) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep()
}

// refused keeps why a run had no events, for who asks later.
func (w *session) refused(e *schemas.Error) {
	said, err := json.Marshal(schemas.StreamError{Code: e.Code, Message: e.Message()})
	if err != nil || !w.isRun {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keeping = Event{Type: schemas.EventError, Sequence: 1, Data: said}.Append(w.keeping)
	w.keeping = Event{Type: schemas.EventDone, Sequence: 2, Data: []byte("{}")}.Append(w.keeping)
	w.sequence = 2
	w.keep()
}
