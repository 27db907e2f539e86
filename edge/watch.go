package edge

import (
	"context"
	"iter"
	"reflect"

	"cairn/bus"
	"cairn/edge/describe"
	"cairn/edge/watch"
	"cairn/schemas"
)

// watchCatalog returns an action that responds with the events of s, whose ids are revisions of the
// catalog. The stream ends when the edge begins to drain; the client resumes it at another edge.
func watchCatalog(s bus.Stream[schemas.Watch]) action {
	request := reflect.TypeFor[schemas.Watch]()
	params := parametersOf(request)
	return action{
		Spec: describe.Spec{
			Permission: s.Permission, Summary: s.Summary, Subject: s.Subject, Request: request, InURL: true,
			Stream: describe.Watch, Invalid: s.Invalid,
		},
		answer: func(x *exchange) error {
			body, wrong := params.read(nil, x.r.URL.RawQuery)
			if len(wrong) > 0 {
				return s.Invalid.With(wrong...)
			}
			body, message := watch.Resume(body, x.r.Header[describe.HeaderLastEventID])
			if message != "" {
				return s.Invalid.With(schemas.FieldError{Field: describe.HeaderLastEventID, Message: message})
			}
			release, err := enterStream(x)
			if err != nil {
				return err
			}
			defer release()
			return newStream(x, "").relay(func(ctx context.Context) iter.Seq2[bus.Event, error] {
				return watch.Events(ctx, x.edge.acceptCtx, func(ctx context.Context) iter.Seq2[bus.Event, error] {
					return s.Forward(ctx, x.edge.conn, body)
				})
			})
		},
	}
}
