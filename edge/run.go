package edge

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strconv"

	"cairn/bus"
	"cairn/schemas"
)

// headerLastEventID says which event a client has seen last, as a browser's
// EventSource does when it comes back (HTML, 9.2).
const headerLastEventID = "Last-Event-Id" // as net/http writes it

// resume answers with the events of a run of s that the client has not seen.
func resume[Req any](s bus.Stream[Req]) action {
	return ofRun(s, mediaEvents, func(x *exchange, run string) error {
		seen, err := x.lastEventID()
		if err != nil {
			return err
		}
		leave, err := x.enterStream()
		if err != nil {
			return err
		}
		defer leave()
		return follow(x, run, func(ctx context.Context) iter.Seq2[bus.Event, error] {
			return s.Resume(ctx, x.edge.conn, run, seen)
		})
	})
}

// stop ends a run of s.
func stop[Req any](s bus.Stream[Req]) action {
	return ofRun(s, "", func(x *exchange, run string) error {
		if err := s.Stop(x.ctx, x.edge.conn, run); err != nil {
			return err
		}
		x.reply(bus.Reply{})
		return nil
	})
}

// foreign answers as if there were no such run, for there is none of the caller.
func foreign(x *exchange) error {
	if x.route.status == http.StatusNoContent {
		x.reply(bus.Reply{})
		return nil
	}
	return bus.ErrNoRun
}

// ofRun is an action on the run that the path names.
func ofRun[Req any](s bus.Stream[Req], media string, do func(*exchange, string) error) action {
	request := reflect.TypeFor[schemas.RunKey]()
	known := parametersOf(request)
	return action{
		needs: s.Permission, subject: s.Subject + ".{run}", request: request, inURL: true, media: media, invalid: s.Invalid, say: s.Errors,
		answer: func(x *exchange) error {
			body, wrong := known.read(x.vars, x.r.URL.RawQuery)
			if len(wrong) > 0 {
				return s.Invalid.With(wrong...)
			}
			key, err := schemas.Decode[schemas.RunKey](body, s.Invalid)
			if err != nil {
				return err
			}
			if !x.owns(key.Run) {
				return foreign(x)
			}
			return do(x, key.Run)
		},
	}
}

// lastEventID is the last event that the client has seen; 0: none.
func (x *exchange) lastEventID() (uint64, error) {
	given := x.r.Header[headerLastEventID]
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(given[0], 10, 64)
	if err != nil || len(given) > 1 {
		return 0, x.route.invalid.With(schemas.FieldError{
			Field: headerLastEventID, Message: fmt.Sprintf("want the id of one event, a whole number, got %q", given)})
	}
	return n, nil
}
