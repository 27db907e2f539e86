package edge

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"strconv"

	"cairn/bus"
	"cairn/edge/describe"
	"cairn/schemas"
)

// resume responds with the events of a run of s after the Last-Event-ID.
func resume[Req any](s bus.Stream[Req]) action {
	return runAction(s, describe.Analysis, func(x *exchange, run string) error {
		last, err := lastEventID(x)
		if err != nil {
			return err
		}
		release, err := enterStream(x)
		if err != nil {
			return err
		}
		defer release()
		return newStream(x, run).relay(func(ctx context.Context) iter.Seq2[bus.Event, error] {
			return s.Resume(ctx, x.edge.conn, run, last)
		})
	})
}

// cancelRun cancels a run of s.
func cancelRun[Req any](s bus.Stream[Req]) action {
	return runAction(s, nil, func(x *exchange, run string) error {
		if err := s.Cancel(x.ctx, x.edge.conn, run); err != nil {
			return err
		}
		x.reply(bus.Reply{})
		return nil
	})
}

// notOwned responds as for a run that does not exist, so that a caller cannot probe
// for the runs of other tenants.
func notOwned(x *exchange) error {
	if x.spec.Status == http.StatusNoContent {
		x.reply(bus.Reply{})
		return nil
	}
	return bus.ErrNoRun
}

// runAction returns an action on the run in the path.
func runAction[Req any](s bus.Stream[Req], stream *describe.Stream, do func(*exchange, string) error) action {
	a := queryAction(func(x *exchange, key schemas.RunKey) error {
		if !bus.OwnsRun(x.by, key.Run) {
			return notOwned(x)
		}
		return do(x, key.Run)
	}, nil)
	a.Permission, a.Subject, a.Stream, a.Invalid, a.Translate = s.Permission, s.Subject+".{run}", stream, s.Invalid,
		s.Errors
	return a
}

var lastEventIDText = regexp.MustCompile(describe.LastEventIDPattern)

// lastEventID returns the id of the last event that the client received, 0 for none.
func lastEventID(x *exchange) (uint64, error) {
	given := x.r.Header[describe.HeaderLastEventID]
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(given[0], 10, 64)
	if err != nil || len(given) > 1 || !lastEventIDText.MatchString(given[0]) {
		return 0, x.spec.Invalid.With(schemas.FieldError{
			Field:   describe.HeaderLastEventID,
			Message: fmt.Sprintf("expected one event id, an unsigned integer, got %.140q", given)})
	}
	return n, nil
}
