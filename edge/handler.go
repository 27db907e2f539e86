package edge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
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
	"cairn/edge/a2a"
	"cairn/edge/access"
	"cairn/edge/ard"
	"cairn/schemas"
)

// maxPath bounds the escaped path of a request, in bytes. The longest id has 256
// characters of 4 bytes, each of which takes 3 bytes when escaped.
const maxPath = 4 << 10

// edge is the http.Handler of all routes.
type edge struct {
	conn          *bus.Conn
	log           *slog.Logger
	mux           *mux.Router
	table         map[*mux.Route]*route
	describe      func() (description, error)
	crossOrigin   *http.CrossOriginProtection
	origins       Origins      // exempt from crossOrigin
	gate          *access.Gate // nil: authentication is off
	overload      *overload.Gate
	streams       *admission.Pool
	refusals      *rate.Limiter // of refusals without a delay
	hosts         hosts
	bodies        *admission.Pool                          // bytes of request bodies
	seen          atomic.Pointer[schemas.ConsistencyToken] // the latest one in a reply; nil: none
	agent         *a2a.Handler
	stopping      context.Context
	serving       context.Context // ends when the drain begins
	keepAlive     time.Duration   // of streams
	clusterHealth func() (problem string, quorum bool)

	checked   *bus.Check[report]   // of /health
	readiness *bus.Check[[]string] // of /health/ready

	publisher  ard.Publisher
	manifest   *bus.Check[manifest]
	skillReads *rate.Limiter
}

func newEdge(serving, stopping context.Context, c Config) *edge {
	bodyMemory := cmp.Or(c.BodyMemory, defaultBodyMemory)
	e := &edge{
		conn: c.Conn, log: slog.New(bus.LogHandler(c.Log.Handler())), serving: serving, stopping: stopping,
		overload:  cmp.Or(c.Overload, overload.New(maxRequests)),
		streams:   admission.NewPool(maxStreams),
		refusals:  rate.NewLimiter(promptRefusals, promptRefusals/10),
		hosts:     newHosts(c.Hosts),
		bodies:    admission.NewPool(bodyMemory),
		keepAlive: cmp.Or(c.KeepAlive, defaultKeepAlive),
		mux:       mux.NewRouter(),
		table:     map[*mux.Route]*route{},
		origins:   c.Origins,

		crossOrigin: http.NewCrossOriginProtection(),
	}
	e.agent = a2a.New(a2a.Tasks(), e.keepAlive)
	telemetry.MemoryBudget("body", bodyMemory, e.bodies.Used)
	e.gate = access.Open(c.Access, c.Conn, e.log)
	if e.clusterHealth = c.ClusterHealth; e.clusterHealth == nil {
		e.clusterHealth = func() (string, bool) { return "", true }
	}
	e.checked = bus.NewCheck(healthTimeout, func(ctx context.Context) report { return newReport(e.health(ctx)) })
	e.readiness = bus.NewCheck(healthTimeout, func(ctx context.Context) []string { return Ready(ctx, e.conn) })
	e.publisher, e.skillReads = c.Publisher, rate.NewLimiter(skillReads, skillBurst)
	e.manifest = bus.NewCheckFor(manifestTTL, manifestTimeout, e.renderManifest)
	stream := bus.Analyze
	if c.AnalyzeTimeout > 0 {
		stream.Timeout = c.AnalyzeTimeout
	}
	rows := routes(stream)
	rows = slices.DeleteFunc(rows, func(r route) bool {
		return c.NoMetrics && r.path == metricsPath || c.NoConsole && (r.path == consolePath || strings.HasPrefix(r.path, consoleFiles))
	})
	e.describe = sync.OnceValues(func() (description, error) { return describe(rows, e.gate != nil) })
	for _, r := range rows {
		methods := []string{r.method}
		if r.method == http.MethodGet && r.media != mediaEvents {
			methods = append(methods, http.MethodHead)
		}
		if r.open {
			r.public = newPublic()
		}
		e.table[e.mux.Path(r.path).Methods(methods...)] = &r
	}
	return e
}

// draining reports whether the edge accepts no more requests.
func (e *edge) draining() bool { return e.serving.Err() != nil }

// stopped reports whether requests in flight are being cancelled.
func (e *edge) stopped() bool { return e.stopping.Err() != nil }

// storeToken stores the consistency token of a reply, if it has one. The edge keeps the highest
// revision of the latest catalog.
func (e *edge) storeToken(t schemas.ConsistencyToken) {
	for t.Revision > 0 {
		last := e.seen.Load()
		if last != nil && last.Catalog == t.Catalog && t.Revision <= last.Revision {
			return
		}
		if e.seen.CompareAndSwap(last, &t) {
			telemetry.CatalogRevision("edge", t.Revision)
			return
		}
	}
}

// ServeHTTP implements http.Handler.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	x := &exchange{edge: e, w: w, r: r}
	x.name()
	x.ctx = bus.WithCaller(bus.WithRequestID(e.stopping, x.id), r.Context())
	defer x.linger()
	defer x.releaseBody()
	defer x.count(began)
	x.handle()
	x.log(began)
	if x.status == statusDisconnected {
		panic(http.ErrAbortHandler) // close the connection: an empty response would look complete
	}
}

// handle runs dispatch and turns its error or panic into the response.
func (x *exchange) handle() {
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
	if err := x.dispatch(); err != nil {
		x.fail(err)
	}
}

// dispatch finds the route and runs its action. It uses the router only to match:
// mux.Router.ServeHTTP would copy each request twice. It escapes the path once; the
// router with UseEncodedPath would do so for each route.
func (x *exchange) dispatch() error {
	if err := x.edge.hosts.check(x.r); err != nil {
		return err
	}
	path, ok := boundedPath(x.r)
	if !ok {
		return schemas.ErrUnknownPath.Because(fmt.Sprintf("expected a path of at most %d bytes; GET /openapi.json lists all", maxPath))
	}
	request := &http.Request{Method: x.r.Method, URL: &url.URL{Path: path}}
	var match mux.RouteMatch
	if x.edge.mux.Match(request, &match) {
		x.route, x.vars = x.edge.table[match.Route], match.Vars
		if !x.edge.origins.allow(x.r) && x.edge.crossOrigin.Check(x.r) != nil {
			return schemas.ErrForbidden.Because(
				"cross-origin requests of browsers are allowed only from origins given with --cors-origin (CAIRN_CORS_ORIGIN)")
		}
		x.trace()
		return x.admitted()
	}
	if match.MatchErr != mux.ErrMethodMismatch { //nolint:errorlint // the router compares the value
		return unknownPath(path)
	}
	allowed, possible := x.edge.allowed(request)
	x.w.Header()["Allow"] = []string{allowed}
	if x.r.Method == http.MethodOptions {
		x.edge.origins.preflight(x.w.Header(), x.r, possible)
		x.write(http.StatusNoContent, nil, nil)
		return nil
	}
	return schemas.ErrMethodNotAllowed.Because(fmt.Sprintf("%q is not a method of %q; expected %s", x.r.Method, path, allowed))
}

// allowed returns the methods of the path of r, for an r with another method, and all that
// are possible: GET of /tags/write reads the tag write, but it is no method of that path.
func (e *edge) allowed(r *http.Request) (methods, possible string) {
	var every, exact []string
	for route, row := range e.table {
		var match mux.RouteMatch
		if route.Match(r, &match); match.MatchErr == mux.ErrMethodMismatch { //nolint:errorlint // the router compares the value
			of, _ := route.GetMethods() // fails for a route without methods
			every = append(every, of...)
			if row.path == r.URL.Path {
				exact = append(exact, of...)
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

// name sets the headers of every response, with the request id: that of the client when it
// is valid, else a new one. checkName rejects the request if it is invalid.
func (x *exchange) name() {
	given := x.r.Header[bus.HeaderRequestID]
	if len(given) != 1 || !bus.ValidRequestID(given[0]) {
		given = []string{nuid.Next()}
	}
	x.id = given[0]
	h := x.w.Header()
	h[bus.HeaderRequestID] = given
	h["X-Content-Type-Options"] = noSniff
	x.edge.origins.share(h, x.r)
	if x.edge.draining() {
		h["Connection"] = closing // the client then connects to another edge
	}
}

// checkName returns the error for an invalid X-Request-Id.
func (x *exchange) checkName() error {
	given := x.r.Header[bus.HeaderRequestID]
	if len(given) == 0 || len(given) == 1 && given[0] == x.id {
		return nil
	}
	return x.route.invalid.With(schemas.FieldError{
		Field: bus.HeaderRequestID, Message: fmt.Sprintf("expected one value of 1 to %d visible ASCII characters", bus.MaxRequestID)})
}
