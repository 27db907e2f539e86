package edge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/edge/describe"
	"cairn/edge/mcp"
	"cairn/schemas"
)

// handler is the http.Handler of all routes.
type handler struct {
	*edge

	mux         *mux.Router
	table       map[*mux.Route]*route
	hosts       hosts
	crossOrigin *http.CrossOriginProtection // exempts origins
}

func newHandler(acceptCtx, requestCtx context.Context, c Config) *handler {
	h := &handler{
		edge: newEdge(acceptCtx, requestCtx, c), mux: mux.NewRouter(), table: map[*mux.Route]*route{},
		hosts:       newHosts(c.Hosts),
		crossOrigin: http.NewCrossOriginProtection(),
	}
	rows := slices.DeleteFunc(routes(h.edge), func(r route) bool {
		return c.NoMetrics && r.Path == metricsPath ||
			c.NoConsole && (r.Path == consolePath || strings.HasPrefix(r.Path, consoleFiles))
	})
	h.describe = sync.OnceValues(func() (describe.Description, error) {
		return describe.New(specs(rows), h.authenticator != nil)
	})
	for _, r := range rows {
		methods := []string{r.Method}
		if r.Method == http.MethodGet && r.Stream == nil {
			methods = append(methods, http.MethodHead)
		}
		if r.Open {
			r.limits = newAnonymousLimiter()
		}
		h.table[h.mux.Path(r.Path).Methods(methods...)] = &r
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	x := newExchange(h.edge, w, r)
	defer x.close(began)
	h.handle(x)
	x.log(began)
	if x.status == statusDisconnected {
		panic(http.ErrAbortHandler) // close the connection: an empty response would look complete
	}
}

// handle runs dispatch and turns its error or panic into the response.
func (h *handler) handle(x *exchange) {
	defer func() {
		switch p := recover(); {
		case p == http.ErrAbortHandler: //nolint:errorlint // net/http compares the value
			panic(p)
		case p != nil && x.status != 0: // the response has begun
			x.edge.log.ErrorContext(x.ctx, "panic", "err", bus.Recovered(p))
			panic(http.ErrAbortHandler)
		case p != nil:
			x.fail(bus.Recovered(p))
		}
	}()
	err := h.dispatch(x)
	if x.status == 0 && isRefusal(err) {
		x.body.release() // a delayed refusal holds no memory
		err = refuse(x, err)
	}
	if err != nil {
		x.fail(err)
	}
}

// dispatch finds the route and runs its action. It uses the router only to match:
// mux.Router.ServeHTTP would copy each request twice. It escapes the path once; the
// router with UseEncodedPath would do so for each route.
func (h *handler) dispatch(x *exchange) error {
	if err := h.hosts.check(x.r); err != nil {
		return err
	}
	path, ok := boundedPath(x.r)
	if !ok {
		return schemas.ErrUnknownPath.Because(fmt.Sprintf("expected a path of at most %d bytes; see GET /openapi.json",
			maxPath))
	}
	if path == mcp.Path+"/" { // as some clients complete the URL
		path = mcp.Path
	}
	request := &http.Request{Method: x.r.Method, URL: &url.URL{Path: path}}
	var match mux.RouteMatch
	if h.mux.Match(request, &match) {
		row := h.table[match.Route]
		x.spec, x.route, x.vars = &row.Spec, row.telemetry, match.Vars
		if !x.edge.origins.allow(x.r) && h.crossOrigin.Check(x.r) != nil {
			return schemas.ErrForbidden.Because(
				"cross-origin requests of browsers are allowed only from origins given with --cors-origin (CAIRN_CORS_ORIGIN)")
		}
		startSpan(x)
		return serve(x, row)
	}
	if match.MatchErr != mux.ErrMethodMismatch { //nolint:errorlint // the router compares the value
		return unknownPath(path)
	}
	allowed, possible := h.allowed(request)
	x.w.Header()["Allow"] = []string{allowed}
	if x.r.Method == http.MethodOptions {
		x.edge.origins.preflight(x.w.Header(), x.r, possible)
		x.write(http.StatusNoContent, nil, nil)
		return nil
	}
	return schemas.ErrMethodNotAllowed.Because(fmt.Sprintf("%q is not a method of %q; expected %s", x.r.Method, path,
		allowed))
}

// allowed returns the Allow header for a 405 response, and the methods of all patterns that
// match the path, for preflights. They differ for /tags/write, which also matches GET
// /tags/{request_id}.
func (h *handler) allowed(r *http.Request) (methods, possible string) {
	var every, exact []string
	for route, row := range h.table {
		var match mux.RouteMatch
		if route.Match(r, &match); match.MatchErr == mux.ErrMethodMismatch { //nolint:errorlint // the router compares the value
			accepted, _ := route.GetMethods() // fails for a route without methods
			every = append(every, accepted...)
			if row.Path == r.URL.Path {
				exact = append(exact, accepted...)
			}
		}
	}
	list := func(names []string) string {
		slices.Sort(names)
		return strings.Join(append(slices.Compact(names), http.MethodOptions), ", ")
	}
	if possible = list(every); exact != nil {
		return list(exact), possible
	}
	return possible, possible
}

// startSpan starts the span of the exchange, as a child of the client's span if it sends
// one. Routes without a subject have no span: probes would fill the trace store.
func startSpan(x *exchange) {
	x.ctx = telemetry.Extract(x.ctx, x.r.Header.Get("Traceparent"), x.r.Header.Get("Tracestate"))
	if x.spec.Subject != "" {
		x.ctx, x.span = x.route.Serve(x.ctx, x.r.TLS != nil)
		x.span.RequestID(x.id)
	}
}

// serve runs the action of the route after authentication, which comes before
// the body is read.
func serve(x *exchange, r *route) error {
	if r.limits != nil {
		release, err := r.limits.enter(x.w, x.r)
		if err != nil {
			return err
		}
		defer release()
	}
	if err := authenticate(x); err != nil {
		return err
	}
	if err := checkRequestID(x); err != nil {
		return err
	}
	if !r.TakesBody() {
		x.body.discard()
	}
	return r.answer(x)
}

// checkRequestID returns the error for an invalid X-Request-Id.
func checkRequestID(x *exchange) error {
	given := x.r.Header[bus.HeaderRequestID]
	if len(given) == 0 || len(given) == 1 && given[0] == x.id {
		return nil
	}
	return x.spec.Invalid.With(schemas.FieldError{
		Field:   bus.HeaderRequestID,
		Message: fmt.Sprintf("expected one value of 1 to %d visible ASCII characters", bus.MaxRequestID)})
}
