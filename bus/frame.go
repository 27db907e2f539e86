package bus

import (
	"bytes"
	"strconv"

	"cairn/schemas"
)

// Events of a run are text, as they go to HTTP clients (HTML, 9.2, server-sent
// events): headers would cost a message as much again, and what is kept has
// several of them in one message.

// appendFrame adds the event to b. Its data has no line breaks.
func appendFrame(b []byte, e Event) []byte {
	b = append(b, "id: "...)
	b = strconv.AppendUint(b, e.Sequence, 10)
	b = append(b, "\nevent: "...)
	b = append(b, e.Type...)
	b = append(b, "\ndata: "...)
	b = append(b, e.Data...)
	return append(b, "\n\n"...)
}

// readFrame reads the first event of b, and gives what follows it; false when
// there is none.
func readFrame(b []byte) (e Event, rest []byte, ok bool) {
	frame, rest, ok := bytes.Cut(b, []byte("\n\n"))
	id, frame, ok1 := bytes.Cut(frame, []byte("\nevent: "))
	kind, data, ok2 := bytes.Cut(frame, []byte("\ndata: "))
	id, ok3 := bytes.CutPrefix(id, []byte("id: "))
	n, err := strconv.ParseUint(string(id), 10, 64)
	if !ok || !ok1 || !ok2 || !ok3 || err != nil {
		return Event{}, nil, false
	}
	return Event{Type: eventType(kind), Sequence: n, Data: data}, rest, true
}

// eventType is the name of an event; those that come most cost nothing.
func eventType(name []byte) string {
	if string(name) == schemas.EventTextDelta {
		return schemas.EventTextDelta
	}
	return string(name)
}
