package replay

import (
	"bytes"
	"strconv"
)

// Event is one event of a stream.
type Event struct {
	Type     string
	Sequence uint64 // from 1
	Data     []byte // JSON
	ID       string // id of a server-sent event, used instead of Sequence; not sent over NATS
}

// Append appends the event to b as a server-sent event (HTML, 9.2.6), without an id if it has no
// sequence. Events of a run have this form on the bus too: headers would double the size of a
// message, and a message of the replay stream contains several events.
func (e Event) Append(b []byte) []byte {
	switch {
	case e.ID != "":
		b = append(appendLine(append(b, "id: "...), e.ID), '\n')
	case e.Sequence > 0:
		b = append(b, "id: "...)
		b = strconv.AppendUint(b, e.Sequence, 10)
		b = append(b, '\n')
	}
	b = appendLine(append(b, "event: "...), e.Type)
	b = appendLine(append(b, "\ndata: "...), e.Data)
	return append(b, "\n\n"...)
}

// appendLine appends text with line breaks replaced by spaces: in JSON they occur
// between tokens only, and in other text they would begin another field.
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

// Parse parses the first event of b, which Append has encoded, and returns the rest. It returns
// false if b does not begin with an event.
func Parse(b []byte) (e Event, rest []byte, ok bool) {
	frame, rest, ok := bytes.Cut(b, []byte("\n\n"))
	id, frame, ok1 := bytes.Cut(frame, []byte("\nevent: "))
	kind, data, ok2 := bytes.Cut(frame, []byte("\ndata: "))
	id, ok3 := bytes.CutPrefix(id, []byte("id: "))
	n, err := strconv.ParseUint(string(id), 10, 64)
	if !ok || !ok1 || !ok2 || !ok3 || err != nil {
		return Event{}, nil, false
	}
	return Event{Type: string(kind), Sequence: n, Data: data}, rest, true
}
