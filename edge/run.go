package edge

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"strconv"

	"cairn/bus"
	"cairn/schemas"
)

// headerLastEventID holds the id of the last event that a client received; a
// browser's EventSource sends it when it reconnects (HTML, 9.2).
const headerLastEventID = "Last-Event-Id" // canonical form of net/http

// resume responds with the events of a run of s after the Last-Event-ID.
func resume[Req any](s bus.Stream[Req]) action {
	return runAction(s, mediaEvents, func(x *exchange, run string) error {
		last, err := lastEventID(x)
		if err != nil {
			return err
		}
		_, release, err := enterStream(x)
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
	return runAction(s, "", func(x *exchange, run string) error {
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
	if x.route.status == http.StatusNoContent {
		x.reply(bus.Reply{})
		return nil
	}
	return bus.ErrNoRun
}

// runAction returns an action on the run in the path.
func runAction[Req any](s bus.Stream[Req], media string, do func(*exchange, string) error) action {
	a := queryAction(func(x *exchange, key schemas.RunKey) error {
		if !bus.OwnsRun(x.by, key.Run) {
			return notOwned(x)
		}
		return do(x, key.Run)
	}, nil)
	a.needs, a.subject, a.media, a.invalid, a.translate = s.Permission, s.Subject+".{run}", media, s.Invalid, s.Errors
	return a
}

// lastEventIDPattern matches the Last-Event-ID of an analysis. The highest ids, those of the
// end of a lost run, have 16 digits.
const lastEventIDPattern = `^[0-9]{0,16}$`

var lastEventIDText = regexp.MustCompile(lastEventIDPattern)

// lastEventID returns the id of the last event that the client received, 0 for none.
func lastEventID(x *exchange) (uint64, error) {
	given := x.r.Header[headerLastEventID]
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(given[0], 10, 64)
	if err != nil || len(given) > 1 || !lastEventIDText.MatchString(given[0]) {
		return 0, x.route.invalid.With(schemas.FieldError{
			Field: headerLastEventID, Message: fmt.Sprintf("expected one event id, an unsigned integer, got %.140q", given)})
	}
	return n, nil
}
