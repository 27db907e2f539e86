// Package watch translates watches of the catalog to event streams whose ids are revisions, so that a
// client resumes a watch after the last revision that it received.
package watch

import (
	"context"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
	"cairn/schemas/member"
)

// Resume returns the request with the revision of the Last-Event-ID header, if there is one, as the revision after
// which the watch begins. It returns a message for an invalid header.
func Resume(request []byte, lastEventID []string) (resumed []byte, message string) {
	if len(lastEventID) == 0 || lastEventID[0] == "" {
		return request, ""
	}
	if _, err := schemas.ParseConsistencyToken(lastEventID[0]); err != nil || len(lastEventID) > 1 {
		return nil, fmt.Sprintf("expected the id of one event, such as ID-7, got %.140q", lastEventID)
	}
	resumed, _ = member.Append(request, member.Member{Name: "after", Value: lastEventID[0]}) // cannot fail: JSON and text
	return resumed, ""
}

// Events yields the events of a watch with their revisions as ids, and the event done when draining ends.
func Events(ctx, draining context.Context,
	events func(context.Context) iter.Seq2[bus.Event, error]) iter.Seq2[bus.Event, error] {
	return func(yield func(bus.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(draining, cancel)()
		for event, err := range events(ctx) {
			if err != nil && draining.Err() != nil {
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
	var watching schemas.Watching
	if json.Unmarshal(e.Data, &watching) == nil {
		e.ID = watching.Revision
	}
	e.Sequence = 0
	return e
}
