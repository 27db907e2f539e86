package bus

import (
	"bytes"
	"strconv"

	"cairn/schemas"
)

// Append adds the event to b as it goes to HTTP clients (HTML, 9.2, server-sent
// events); without a sequence it has no id. Events of a run are so on the bus,
// too: headers would cost a message as much again, and what is kept has several
// events in one message.
func (e Event) Append(b []byte) []byte {
	if e.Sequence > 0 {
		b = append(b, "id: "...)
		b = strconv.AppendUint(b, e.Sequence, 10)
		b = append(b, '\n')
	}
	b = appendLine(append(b, "event: "...), e.Type)
	b = appendLine(append(b, "\ndata: "...), e.Data)
	return append(b, "\n\n"...)
}

// appendLine adds text without its line breaks: those of JSON can only be between
// its tokens, and no other text may begin a line of its own.
func appendLine[T string | []byte](b []byte, text T) []byte {
	b = append(b, text...)
	added := b[len(b)-len(text):]
	for i, c := range added {
		if c == '\r' || c == '\n' {
			added[i] = ' '
		}
	}
	return b
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
