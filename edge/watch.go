package edge

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/edge/describe"
	"cairn/schemas"
)

// watch returns an action that responds with the events of s, whose ids are revisions of the
// catalog. The stream ends when the edge begins to drain; the client resumes it at another edge.
func watch(s bus.Stream[schemas.Watch]) action {
	request := reflect.TypeFor[schemas.Watch]()
	known := parametersOf(request)
	return action{
		Spec: describe.Spec{
			Permission: s.Permission, Summary: s.Summary, Subject: s.Subject, Request: request, InURL: true, Stream: describe.Watch, Invalid: s.Invalid,
		},
		answer: func(x *exchange) error {
			body, wrong := known.read(nil, x.r.URL.RawQuery)
			if len(wrong) > 0 {
				return s.Invalid.With(wrong...)
			}
			body, err := resumeAfter(x, body)
			if err != nil {
				return err
			}
			_, release, err := enterStream(x)
			if err != nil {
				return err
			}
			defer release()
			return newStream(x, "").relay(func(ctx context.Context) iter.Seq2[bus.Event, error] {
				return untilDrained(ctx, x, s, body)
			})
		},
	}
}

// resumeAfter returns the request with the Last-Event-ID, if there is one, as the revision after
// which the watch begins.
func resumeAfter(x *exchange, request []byte) ([]byte, error) {
	given := x.r.Header[describe.HeaderLastEventID]
	if len(given) == 0 || given[0] == "" {
		return request, nil
	}
	if _, err := schemas.ParseConsistencyToken(given[0]); err != nil || len(given) > 1 {
		return nil, x.spec.Invalid.With(schemas.FieldError{
			Field: describe.HeaderLastEventID, Message: fmt.Sprintf("expected the id of one event, such as ID-7, got %.140q", given)})
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(request, &members); err != nil {
		return nil, err
	}
	members["after"], _ = jsontext.AppendQuote(nil, given[0]) // cannot fail: a token is printable
	return json.Marshal(members)
}

// untilDrained yields the events with their revisions as ids, and done when the edge begins
// to drain.
func untilDrained(ctx context.Context, x *exchange, s bus.Stream[schemas.Watch], body []byte) iter.Seq2[bus.Event, error] {
	return func(yield func(bus.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(x.edge.acceptCtx, cancel)()
		for event, err := range s.Forward(ctx, x.edge.conn, body) {
			if err != nil && x.edge.draining() {
				yield(bus.Event{Type: schemas.EventDone, Data: []byte("{}")}, nil)
				return
			}
			if !yield(withRevisionID(event), err) {
				return
			}
		}
	}
}

// withRevisionID returns the event with its revision as id. Other events have none, so that a client
// that reconnects sends the last revision.
func withRevisionID(e bus.Event) bus.Event {
	var of schemas.Watching
	if json.Unmarshal(e.Data, &of) == nil {
		e.ID = of.Revision
	}
	e.Sequence = 0
	return e
}
