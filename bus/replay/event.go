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
	frame    []byte // the event as Append has encoded it; nil: it was not parsed
}

// Append appends the event to b as a server-sent event (HTML, 9.2.6), without an id if it has no
// sequence. Events of a run have this form on the bus too: headers would double the size of a
// message, and a message of the replay stream contains several events.
func (e Event) Append(b []byte) []byte {
	switch {
	case e.frame != nil:
		return append(b, e.frame...)
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
// false if b does not begin with an event. The event retains b.
func Parse(b []byte) (e Event, rest []byte, ok bool) {
	text, rest, ok := bytes.Cut(b, []byte("\n\n"))
	id, fields, ok1 := bytes.Cut(text, []byte("\nevent: "))
	kind, data, ok2 := bytes.Cut(fields, []byte("\ndata: "))
	id, ok3 := bytes.CutPrefix(id, []byte("id: "))
	n, err := strconv.ParseUint(string(id), 10, 64)
	valid := ok && ok1 && ok2 && ok3 && bytes.Count(text, []byte{'\n'}) == 2 && bytes.IndexByte(text, '\r') < 0
	if !valid || err != nil {
		return Event{}, nil, false
	}
	return Event{Type: string(kind), Sequence: n, Data: data, frame: b[:len(b)-len(rest)]}, rest, true
}
