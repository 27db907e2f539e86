package edge

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"
	"golang.org/x/time/rate"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/overload"
	"cairn/bus/telemetry"
	"cairn/edge/a2a"
	"cairn/edge/access"
	"cairn/edge/ard"
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
	origins       Origins               // exempt from crossOrigin
	authenticator *access.Authenticator // nil: authentication is off
	overload      *overload.Gate        // admits requests
	streams       *overload.Gate        // admits event streams; see readStreamBody and runStream
	longWork      *admission.Pool       // CPUs for long parts of requests
	refusals      *rate.Limiter         // of refusals without a delay
	hosts         hosts
	bodies        *admission.Pool // bytes of request bodies
	watermark     watermark
	agent         *a2a.Handler
	requestCtx    context.Context // parent of the contexts of requests; ends when the drain times out
	acceptCtx     context.Context // ends when the drain begins and no new requests are accepted
	keepAlive     time.Duration   // of streams
	clusterHealth func() (problem string, quorum bool)

	healthCheck *bus.Check[report]   // of /health
	readiness   *bus.Check[[]string] // of /health/ready

	publisher  ard.Publisher
	manifest   *bus.Check[manifest]
	skillReads *rate.Limiter
}

func newEdge(acceptCtx, requestCtx context.Context, c Config) *edge {
	bodyMemory := cmp.Or(c.BodyMemory, defaultBodyMemory)
	e := &edge{
		conn: c.Conn, log: slog.New(bus.LogHandler(c.Log.Handler())), acceptCtx: acceptCtx, requestCtx: requestCtx,
		overload:  cmp.Or(c.overload, overload.New(maxRequests)),
		streams:   cmp.Or(c.streams, overload.New(maxStreams)),
		longWork:  overload.NewLongPool(),
		refusals:  rate.NewLimiter(promptRefusals, promptRefusals/10),
		hosts:     newHosts(c.Hosts),
		bodies:    admission.NewPool(bodyMemory),
		keepAlive: cmp.Or(c.keepAlive, defaultKeepAlive),
		mux:       mux.NewRouter(),
		table:     map[*mux.Route]*route{},
		origins:   c.Origins,

		crossOrigin: http.NewCrossOriginProtection(),
	}
	e.agent = a2a.New(a2a.Tasks(), e.keepAlive)
	telemetry.MemoryBudget("body", bodyMemory, e.bodies.Used)
	e.authenticator = access.Open(c.Access, c.Conn, e.log)
	if e.clusterHealth = c.ClusterHealth; e.clusterHealth == nil {
		e.clusterHealth = func() (string, bool) { return "", true }
	}
	e.healthCheck = bus.NewCheck(healthTimeout, func(ctx context.Context) report { return newReport(checkHealth(ctx, e)) })
	e.readiness = bus.NewCheck(healthTimeout, func(ctx context.Context) []string { return Ready(ctx, e.conn) })
	e.publisher, e.skillReads = c.Publisher, rate.NewLimiter(skillReads, skillBurst)
	e.manifest = bus.NewCheckFor(manifestTTL, manifestTimeout, func(ctx context.Context) manifest {
		return renderManifest(ctx, e.conn, e.publisher)
	})
	stream := bus.Analyze
	if c.AnalyzeTimeout > 0 {
		stream.Timeout = c.AnalyzeTimeout
	}
	rows := routes(stream)
	rows = slices.DeleteFunc(rows, func(r route) bool {
		return c.NoMetrics && r.path == metricsPath || c.NoConsole && (r.path == consolePath || strings.HasPrefix(r.path, consoleFiles))
	})
	e.describe = sync.OnceValues(func() (description, error) { return describe(rows, e.authenticator != nil) })
	for _, r := range rows {
		methods := []string{r.method}
		if r.method == http.MethodGet && r.media != mediaEvents {
			methods = append(methods, http.MethodHead)
		}
		if r.open {
			r.limits = newAnonymousLimiter()
		}
		e.table[e.mux.Path(r.path).Methods(methods...)] = &r
	}
	return e
}

// draining reports whether the edge accepts no more requests.
func (e *edge) draining() bool { return e.acceptCtx.Err() != nil }

// stopped reports whether requests in flight are being canceled.
func (e *edge) stopped() bool { return e.requestCtx.Err() != nil }

// ServeHTTP implements http.Handler.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	x := &exchange{edge: e, w: w, r: r, body: requestBody{w: w, r: r, memory: e.bodies}}
	x.setHeaders()
	x.ctx = bus.WithCaller(bus.WithRequestID(e.requestCtx, x.id), r.Context())
	defer x.close(began)
	x.handle()
	x.log(began)
	if x.status == statusDisconnected {
		panic(http.ErrAbortHandler) // close the connection: an empty response would look complete
	}
}

// allowed returns the Allow header for a 405 response, and the methods of all patterns that
// match the path, for preflights. They differ for /tags/write, which also matches GET
// /tags/{request_id}.
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
