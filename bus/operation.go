package bus

import (
	"reflect"

	"github.com/nats-io/nats.go/micro"

	"cairn/schemas"
)

// QueueGroup is the NATS queue group in which the workers of a service share requests.
const QueueGroup = micro.DefaultQueueGroup

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
	Request    reflect.Type       // of the messages on the subject
	Reply      reflect.Type       // of RequestReply, otherwise nil
}

// Operation describes the subject of e.
func (e Endpoint[Req, Res]) Operation() Operation {
	return Operation{RequestReply, e.Subject, e.Summary, e.Permission, reflect.TypeFor[Req](), reflect.TypeFor[Res]()}
}

// Operation describes the subject of s.
func (s Stream[Req]) Operation() Operation {
	return Operation{RequestEvents, s.Subject, s.Summary, s.Permission, reflect.TypeFor[Req](), nil}
}

// Operation describes the subject of t.
func (t Topic[T]) Operation() Operation {
	return Operation{Announcement, t.Subject, t.Summary, "", reflect.TypeFor[T](), nil}
}

// Operations returns the operations of all subjects, in the order of the services.
func Operations() []Operation {
	var list []Operation
	for _, s := range subjects {
		list = append(list, s.Operation())
	}
	for _, service := range Services() {
		list = append(list, Health(service).Operation())
	}
	return list
}
