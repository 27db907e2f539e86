package bus

import (
	"reflect"

	"cairn/schemas"
)

// Pattern is how messages on a subject are answered.
type Pattern int

// The patterns of the subjects.
const (
	RequestReply  Pattern = iota // Endpoint: one reply
	RequestEvents                // Stream: events
	Announcement                 // Topic: no reply; every subscriber receives each message
)

// Operation describes a subject.
type Operation struct {
	Pattern    Pattern
	Subject    string
	Summary    string
	Permission schemas.Permission // empty: no permission is required
	Request    reflect.Type       // type of the messages on the subject
	Reply      reflect.Type       // type of the reply; nil unless RequestReply
}
