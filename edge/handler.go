package edge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"
	"github.com/nats-io/nuid"
	"golang.org/x/time/rate"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/overload"
	"cairn/bus/telemetry"
	"cairn/edge/access"
	"cairn/schemas"
)

// edge answers HTTP requests.
type edge struct {
	conn     *bus.Conn
	log      *slog.Logger
	mux      *mux.Router
	table    map[*mux.Route]*route
	methods  []string // that any route has
	describe func() (description, error)
	origins  *http.CrossOriginProtection
	gate     *access.Gate // nil: everybody may come in
	overload *overload.Gate
	streams  *admission.Pool
	refusals *rate.Limiter // of those that are not delayed
	hosts    hosts
	bodies   *admission.Pool // bytes of request bodies
	revision atomic.Uint64   // the highest of the catalog that an answer named
	stopping context.Context
	serving  context.Context // until no more is taken
	silence  time.Duration   // of a stream before a comment
	trouble  func() (says string, quorum bool)

	checked   *bus.Check[report]   // of /health
	readiness *bus.Check[[]string] // of /health/ready
}

func newEdge(serving, stopping context.Context, c Config) *edge {
	e := &edge{
		conn: c.Conn, log: slog.New(bus.LogHandler(c.Log.Handler())), serving: serving, stopping: stopping,
		overload: cmp.Or(c.Overload, overload.New(maxRequests)),
		streams:  admission.NewPool(maxStreams),
		refusals: rate.NewLimiter(promptRefusals, promptRefusals/10),
		hosts:    newHosts(c.Hosts),
		bodies:   admission.NewPool(cmp.Or(c.BodyMemory, defaultBodyMemory)),
		silence:  cmp.Or(c.KeepAlive, keepAlive),
		mux:      mux.NewRouter().UseEncodedPath().SkipClean(true),
		table:    map[*mux.Route]*route{},
		origins:  http.NewCrossOriginProtection(),
	}
	e.gate = access.Open(c.Access, c.Conn, e.log)
	if e.trouble = c.Trouble; e.trouble == nil {
		e.trouble = func() (string, bool) { return "", true }
	}
	e.checked = bus.NewCheck(healthTime, func(ctx context.Context) report { return newReport(e.health(ctx)) })
	e.readiness = bus.NewCheck(healthTime, func(ctx context.Context) []string { return Ready(ctx, e.conn) })
	stream := bus.Analyze
	if c.AnalyzeTimeout > 0 {
		stream.Timeout = c.AnalyzeTimeout
	}
	rows := routes(stream)
	if c.Observed {
		rows = slices.DeleteFunc(rows, func(r route) bool { return r.path == metricsPath })
	}
	e.describe = sync.OnceValues(func() (description, error) { return describe(rows) })
	for _, r := range rows {
		methods := []string{r.method}
		if r.method == http.MethodGet && r.media != mediaEvents {
			methods = append(methods, http.MethodHead)
		}
		if r.open {
			r.public = newPublic()
		}
		e.table[e.mux.Path(r.path).Methods(methods...)] = &r
		e.methods = append(e.methods, methods...)
	}
	slices.Sort(e.methods)
	e.methods = slices.Compact(e.methods)
	return e
}

// draining reports whether no more requests are taken.
func (e *edge) draining() bool { return e.serving.Err() != nil }

// stopped reports whether requests in flight are being ended.
func (e *edge) stopped() bool { return e.stopping.Err() != nil }

// sawRevision remembers that the catalog has come to revision n.
func (e *edge) sawRevision(n uint64) {
	for {
		highest := e.revision.Load()
		if n <= highest {
			return
		}
		if e.revision.CompareAndSwap(highest, n) {
			telemetry.CatalogRevision("edge", n)
			return
		}
	}
}

// ServeHTTP answers one request.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	x := &exchange{edge: e, w: w, r: r}
	x.name()
	x.ctx = bus.WithRequestID(r.Context(), x.id)
	defer x.linger()
	defer x.releaseBody()
	defer x.count(began)
	x.handle()
	x.log(began)
	if x.status == statusLeft {
		panic(http.ErrAbortHandler) // there is no answer, not an empty one
	}
}

// handle answers with the route's action, whatever happens in it.
func (x *exchange) handle() {
	defer func() {
		switch p := recover(); {
		case p == http.ErrAbortHandler:
			panic(p)
		case p != nil && x.status != 0: // too late for another answer
			x.edge.log.ErrorContext(x.ctx, "panic", "err", bus.Recovered(p))
			panic(http.ErrAbortHandler)
		case p != nil:
			x.fail(bus.Recovered(p))
		}
	}()
	if err := x.dispatch(); err != nil {
		x.fail(err)
	}
}

// dispatch finds the route and runs it. The router is only asked for the match:
// served by it, each request would be copied twice.
func (x *exchange) dispatch() error {
	if err := x.edge.hosts.check(x.r); err != nil {
		return err
	}
	var match mux.RouteMatch
	if x.edge.mux.Match(x.r, &match) {
		x.route, x.vars = x.edge.table[match.Route], match.Vars
		if err := x.edge.origins.Check(x.r); err != nil {
			return schemas.ErrForbidden.Because("a page of another origin must not ask this")
		}
		x.trace()
		return x.admitted()
	}
	allowed := x.allowed()
	if len(allowed) == 0 {
		return schemas.ErrUnknownPath.Because(fmt.Sprintf("no route has the path %q; GET /openapi.json lists all", x.r.URL.EscapedPath()))
	}
	x.w.Header()["Allow"] = []string{strings.Join(allowed, ", ")}
	if x.r.Method == http.MethodOptions {
		x.write(http.StatusNoContent, nil, nil)
		return nil
	}
	return schemas.ErrMethodNotAllowed.Because(fmt.Sprintf("%q is not a method of %q; want %s", x.r.Method, x.r.URL.EscapedPath(), strings.Join(allowed, ", ")))
}

// allowed are the methods that the path of the request has; none when there is
// no such path.
func (x *exchange) allowed() []string {
	var methods []string
	for _, method := range x.edge.methods {
		probe := http.Request{Method: method, URL: x.r.URL}
		if x.edge.mux.Match(&probe, &mux.RouteMatch{}) {
			methods = append(methods, method)
		}
	}
	if len(methods) > 0 {
		methods = append(methods, http.MethodOptions)
	}
	return methods
}

// name takes the request id of the client, or makes one, and returns it.
func (x *exchange) name() {
	given := x.r.Header[bus.HeaderRequestID]
	if len(given) != 1 || !bus.SaneRequestID(given[0]) {
		given = []string{nuid.Next()}
	}
	x.id = given[0]
	h := x.w.Header()
	h[bus.HeaderRequestID] = given
	h["X-Content-Type-Options"] = noSniff
	if x.edge.draining() {
		h["Connection"] = closing // the client is to ask another edge next
	}
}
