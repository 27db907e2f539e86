package edge

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// maxBody is the largest body of a request, in bytes, where a route has no
// limit of its own.
const maxBody = 1 << 20

// route is one row of the table.
type route struct {
	method, path string
	action
	status  int
	summary string
	errors  []*schemas.Error
	told    *telemetry.Route
	public  *public // limits of an open route; set by the edge
}

// action is what a route does, and what it takes and gives.
type action struct {
	answer  func(*exchange) error
	open    bool               // to everybody
	needs   schemas.Permission // of who asks; not looked at when it is open
	subject string             // on which the same can be asked; empty: none
	request reflect.Type       // nil: nothing
	reply   reflect.Type       // nil: nothing, or not JSON
	media   string             // of the reply; empty: JSON
	inURL   bool               // the request is in the path and the query
	fresh   bool               // the answer has seen what was written before
	invalid *schemas.Error     // for a request that cannot be read
	// say puts an error in the words of the route's contract; nil: as it is.
	say func(*schemas.Error) *schemas.Error
}

// takesBody reports whether the request is in the body.
func (r route) takesBody() bool { return r.request != nil && !r.inURL }

func get(path string, a action, status int, summary string, errors ...*schemas.Error) route {
	return route{http.MethodGet, path, a, status, summary, errors, telemetry.NewRoute(http.MethodGet, path, status), nil}
}

func post(path string, a action, status int, summary string, errors ...*schemas.Error) route {
	return route{http.MethodPost, path, a, status, summary, errors, telemetry.NewRoute(http.MethodPost, path, status), nil}
}

func remove(path string, a action, status int, summary string, errors ...*schemas.Error) route {
	return route{http.MethodDelete, path, a, status, summary, errors, telemetry.NewRoute(http.MethodDelete, path, status), nil}
}

// forward asks e with the body of the request.
func forward[Req, Res any](e bus.Endpoint[Req, Res]) action {
	a := about(e)
	a.answer = func(x *exchange) error {
		body, err := x.body(maxBody)
		if err != nil {
			return err
		}
		return relay(x, e, body)
	}
	return a
}

// bare asks e with nothing; a body is not looked at.
func bare[Res any](e bus.Endpoint[schemas.Nothing, Res]) action {
	a := about(e)
	a.request = nil
	a.answer = func(x *exchange) error { return relay(x, e, nil) }
	return a
}

// fromURL asks e with the parameters in the path and the query.
func fromURL[Req, Res any](e bus.Endpoint[Req, Res]) action {
	known := parametersOf(reflect.TypeFor[Req]())
	a := about(e)
	a.inURL = true
	a.answer = func(x *exchange) error {
		body, wrong := known.read(x.vars, x.r.URL.RawQuery)
		if len(wrong) > 0 {
			return e.Invalid.With(wrong...)
		}
		return relay(x, e, body)
	}
	return a
}

// fresh returns a with answers that include every write acknowledged through this
// edge, and the revision that the caller demands.
func fresh(a action) action {
	a.fresh = true
	answer := a.answer
	a.answer = func(x *exchange) error {
		demanded, err := x.minRevision()
		if err != nil {
			return err
		}
		seen := x.edge.revision.Load()
		if least := max(demanded, seen); least > 0 {
			x.ctx = bus.WithMinRevision(x.ctx, least)
		}
		err = answer(x)
		if seen > demanded && beyondLog(err) { // the catalog was replaced: the caller has made no mistake
			x.edge.revision.CompareAndSwap(seen, 0)
			return schemas.ErrUnavailable.Because("the catalog was replaced by one at an earlier revision")
		}
		return err
	}
	return a
}

// beyondLog reports whether err refuses the revision of a request.
func beyondLog(err error) bool {
	var e *schemas.Error
	return errors.As(err, &e) && slices.ContainsFunc(e.Fields, func(f schemas.FieldError) bool { return f.Field == bus.HeaderMinRevision })
}

func notImplemented() action {
	return action{needs: schemas.PermissionRead, answer: func(x *exchange) error {
		return schemas.ErrNotImplemented.Because(fmt.Sprintf("%s is reserved by the contract, and this version does not implement it", x.route.path))
	}, invalid: schemas.ErrMalformed}
}

func about[Req, Res any](e bus.Endpoint[Req, Res]) action {
	return action{needs: e.Permission, subject: e.Subject, request: reflect.TypeFor[Req](), reply: reflect.TypeFor[Res](), invalid: e.Invalid}
}

// relay sends the request to e and answers with the reply. Only from here on does
// it count as a request in flight: a client that is slow to send its body takes no
// place of another's.
func relay[Req, Res any](x *exchange, e bus.Endpoint[Req, Res], body []byte) error {
	slot, err := x.start()
	if err != nil {
		return err
	}
	defer slot.Close()
	reply, err := e.Forward(x.ctx, x.edge.conn, body)
	if err != nil {
		return err
	}
	x.edge.sawRevision(reply.Revision)
	x.reply(reply)
	return nil
}
