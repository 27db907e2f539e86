// Package describe generates the OpenAPI and AsyncAPI documents and the HTTP reference. The
// HTTP interface is described by the specs of its operations, the NATS interface by bus.Operations.
package describe

import (
	"net/http"
	"reflect"
	"strings"

	"cairn/schemas"
)

const (
	// MediaEvents is the media type of server-sent events.
	MediaEvents = "text/event-stream"
	// MediaLines is the media type of newline-delimited JSON.
	MediaLines = "application/x-ndjson"
	// HeaderLastEventID holds the id of the last event that a client received; a
	// browser's EventSource sends it when it reconnects (HTML, 9.2).
	HeaderLastEventID = "Last-Event-Id" // canonical form of net/http
	// LastEventIDPattern matches the Last-Event-ID of an analysis. The highest ids, those of the
	// end of a lost run, have 16 digits.
	LastEventIDPattern = `^[0-9]{0,16}$`
	// MaxRetryAfter bounds Retry-After, in seconds.
	MaxRetryAfter = 3600
	// StrictName is the parameter of the query of a spec with Strict.
	StrictName = "strict"
)

// Spec describes an operation of the HTTP interface.
type Spec struct {
	Method, Path string
	Status       int    // of success
	Summary      string // one line
	Group        string // OpenAPI tag; empty: derived from the path
	Subject      string // NATS subject of the same operation; empty: none

	Open       bool               // needs no credential
	Permission schemas.Permission // that the caller must have; ignored when Open

	Request    reflect.Type // nil: none
	InURL      bool         // the request is in the path and the query
	BodyMember string       // the member of a request in the URL that is in the body; empty: none
	Strict     bool         // the query has StrictName

	Reply  reflect.Type // nil: none, or not JSON
	Media  string       // media type of the reply; empty: JSON
	Stream *Stream      // nil: the reply is no stream

	Consistent  bool // the reply includes earlier writes (Cairn-Min-Revision)
	Conditional bool // a write with preconditions (If-Match, If-None-Match)
	Message     bool // a write with a message (Cairn-Message)
	ETag        bool // the reply has an ETag

	Invalid *schemas.Error   // for a malformed request
	Errors  []*schemas.Error // that the contract lists for this operation only
	// Translate returns an error in the form of the operation's contract; nil: unchanged.
	Translate func(*schemas.Error) *schemas.Error
	// Failure returns the body of an error response; nil: the error.
	Failure func(*schemas.Error) any
}

// TakesBody reports whether the request, or a part of it, is in the body.
func (s *Spec) TakesBody() bool { return s.Request != nil && (!s.InURL || s.BodyMember != "") }

// Failures returns the errors of the operation, such as ErrTooLarge for one that takes a body.
// With secured they include the errors of authentication.
func (s *Spec) Failures(secured bool) []*schemas.Error {
	list := []*schemas.Error{schemas.ErrMisdirected, s.Invalid}
	if s.Status == http.StatusNotImplemented {
		list = append(list, schemas.ErrNotImplemented)
	}
	list = append(list, s.Errors...)
	if s.Conditional {
		list = append(list, schemas.ErrPreconditionFailed)
	}
	if s.TakesBody() {
		list = append(list, schemas.ErrTooLarge)
	}
	if s.Consistent {
		list = append(list, schemas.ErrResponseTooLarge)
	}
	list = append(list, schemas.ErrForbidden) // for pages of other origins
	if secured && !s.Open {
		list = append(list, schemas.ErrUnauthenticated)
	}
	list = append(list, schemas.ErrTooManyRequests)
	if s.Subject != "" {
		list = append(list, schemas.ErrInternal, schemas.ErrUnavailable, schemas.ErrTimeout)
	}
	if s.Translate != nil {
		for i := range list {
			list[i] = s.Translate(list[i])
		}
	}
	return list
}

// group returns the OpenAPI tag.
func (s *Spec) group() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(s.Path, "/"), "/")
	switch {
	case s.Status == http.StatusNotImplemented:
		return "unimplemented"
	case s.Group != "":
		return s.Group
	case first == "api":
		return "analysis"
	case first == "watch", first == "agents":
		return "records"
	case first == "skills" || first == "tools":
		return "listings"
	case first == "health" || s.Subject == "":
		return "about"
	default:
		return first
	}
}

// Stream is the event stream of a reply.
type Stream struct {
	Events  []Event
	Example string
}

// content returns the OpenAPI media type object of the stream.
func (s *Stream) content() object {
	return object{"schema": object{"type": "string"}, "example": s.Example}
}

// Event is a type of event and the type of its data.
type Event struct {
	Name string
	Data reflect.Type
}

// The streams of the HTTP interface.
var (
	Analysis = &Stream{Example: analysisExample, Events: []Event{
		{schemas.EventTextDelta, reflect.TypeFor[schemas.TextDelta]()},
		{schemas.EventToolUse, reflect.TypeFor[schemas.ToolUse]()},
		{schemas.EventToolResult, reflect.TypeFor[schemas.ToolResult]()},
		{schemas.EventDirectResponse, reflect.TypeFor[schemas.DirectResponse]()},
		{schemas.EventProvenance, reflect.TypeFor[schemas.Provenance]()},
		{schemas.EventSuggestions, reflect.TypeFor[schemas.Suggestions]()},
		{schemas.EventUsage, reflect.TypeFor[schemas.Usage]()},
		{schemas.EventError, reflect.TypeFor[schemas.StreamError]()},
		{schemas.EventDone, reflect.TypeFor[schemas.Nothing]()},
	}}
	Watch = &Stream{Example: watchExample, Events: []Event{
		{schemas.EventWatching, reflect.TypeFor[schemas.Watching]()},
		{schemas.EventRegistered, reflect.TypeFor[schemas.RecordChange]()},
		{schemas.EventReplaced, reflect.TypeFor[schemas.RecordChange]()},
		{schemas.EventUnmatched, reflect.TypeFor[schemas.RecordChange]()},
		{schemas.EventDeleted, reflect.TypeFor[schemas.RecordChange]()},
		{schemas.EventError, reflect.TypeFor[schemas.StreamError]()},
		{schemas.EventDone, reflect.TypeFor[schemas.Nothing]()},
	}}
	// Messages is the stream of a request of the Model Context Protocol.
	Messages = &Stream{Example: messageExample}
)

// renderEvents are the events of a rendering.
var renderEvents = []Event{
	{schemas.EventTextDelta, reflect.TypeFor[schemas.TextDelta]()},
	{schemas.EventError, reflect.TypeFor[schemas.StreamError]()},
	{schemas.EventDone, reflect.TypeFor[schemas.Nothing]()},
}
