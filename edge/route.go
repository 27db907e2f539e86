package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"cairn/bus"
	"cairn/bus/overload"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// maxBody is the largest request body in bytes, except of streams, which have a
// limit of their own.
const maxBody = 1 << 20

// route is a row of the route table.
type route struct {
	method, path string
	action
	status    int
	summary   string
	errors    []*schemas.Error
	telemetry *telemetry.Route
	public    *public // limits of an open route; set by the edge
}

// action is the handler of a route with its request and reply types.
type action struct {
	answer  func(*exchange) error
	open    bool               // needs no credential
	needs   schemas.Permission // that the caller must have; ignored when open
	subject string             // NATS subject of the same operation; empty: none
	request reflect.Type       // nil: none
	reply   reflect.Type       // nil: none, or not JSON
	media   string             // media type of the reply; empty: JSON
	inURL   bool               // the request is in the path and the query
	fresh   bool               // the reply includes earlier writes (see fresh)
	invalid *schemas.Error     // for a malformed request
	// translate returns the error in the form of the route's contract; nil: unchanged.
	translate func(*schemas.Error) *schemas.Error
}

// takesBody reports whether the request is in the body.
func (r route) takesBody() bool { return r.request != nil && !r.inURL }

func get(path string, a action, summary string, errors ...*schemas.Error) route {
	return route{http.MethodGet, path, a, http.StatusOK, summary, errors, telemetry.NewRoute(http.MethodGet, path, http.StatusOK), nil}
}

func post(path string, a action, status int, summary string, errors ...*schemas.Error) route {
	return route{http.MethodPost, path, a, status, summary, errors, telemetry.NewRoute(http.MethodPost, path, status), nil}
}

func remove(path string, a action, status int, summary string, errors ...*schemas.Error) route {
	return route{http.MethodDelete, path, a, status, summary, errors, telemetry.NewRoute(http.MethodDelete, path, status), nil}
}

// forward returns an action that sends the request body to e.
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

// bare returns an action that sends an empty request to e and ignores the body.
func bare[Res any](e bus.Endpoint[schemas.Nothing, Res]) action {
	a := about(e)
	a.request = nil
	a.answer = func(x *exchange) error { return relay(x, e, nil) }
	return a
}

// fromURL returns an action that sends the parameters of the path and query to e.
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

// fresh returns a with replies that include every write acknowledged through this
// edge, and the revision that the request demands.
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
		if seen > demanded && beyondLog(err) { // the catalog was replaced: not an error of the caller
			x.edge.revision.CompareAndSwap(seen, 0)
			return schemas.ErrUnavailable.Because("the catalog was replaced by one at an earlier revision")
		}
		return err
	}
	return a
}

// beyondLog reports whether err rejects the Cairn-Min-Revision of a request.
func beyondLog(err error) bool {
	var e *schemas.Error
	return errors.As(err, &e) && slices.ContainsFunc(e.Fields, func(f schemas.FieldError) bool { return f.Field == bus.HeaderMinRevision })
}

func notImplemented() action {
	return action{needs: schemas.PermissionRead, answer: func(x *exchange) error {
		return schemas.ErrNotImplemented.Because(fmt.Sprintf("%s is reserved by the contract and not implemented in this version", x.route.path))
	}, invalid: schemas.ErrMalformed}
}

func about[Req, Res any](e bus.Endpoint[Req, Res]) action {
	return action{needs: e.Permission, subject: e.Subject, request: reflect.TypeFor[Req](), reply: reflect.TypeFor[Res](), invalid: e.Invalid}
}

// relay sends the request to e and responds with the reply. It holds a slot from when
// the body has arrived until the worker has replied, so that slow clients hold none, and
// clients that disconnect hold theirs while the worker runs. The reply counts against the
// memory for bodies until the client has received it.
func relay[Req, Res any](x *exchange, e bus.Endpoint[Req, Res], body []byte) error {
	slot, err := x.start()
	if err != nil {
		return err
	}
	defer slot.Close()
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.ctx))
	defer cancel()
	defer context.AfterFunc(x.edge.stopping, cancel)()
	var reply bus.Reply
	err = overload.IdleAfter(overload.WithSlot(x.ctx, slot), func() (err error) {
		reply, err = e.Forward(ctx, x.edge.conn, body)
		return err
	})
	if err = cmp.Or(x.ctx.Err(), err); err != nil {
		return err
	}
	slot.Close()
	x.edge.sawRevision(reply.Revision)
	if !x.acquireBody(int64(len(reply.Body))) {
		return errBodyMemory
	}
	x.reply(reply)
	return nil
}
