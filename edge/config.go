package edge

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"time"

	"golang.org/x/time/rate"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/telemetry"
	"cairn/edge/access"
	"cairn/edge/ard"
	"cairn/edge/describe"
	"cairn/schemas"
)

// Config configures an edge.
type Config struct {
	Listener net.Listener // closed by Serve
	Conn     *bus.Conn
	Log      *slog.Logger
	// Drain is the drain deadline of requests in flight, counted from the end of ctx.
	Drain time.Duration
	// AnalyzeTimeout bounds an analysis; 0: the timeout of the contract.
	AnalyzeTimeout time.Duration
	// NoMetrics removes the route /metrics, for metrics on a separate listener (Monitor).
	NoMetrics bool
	// NoConsole removes the web console at / and its files.
	NoConsole bool
	// Cert and Key are the PEM files of the TLS certificate and its key; empty: plain
	// HTTP. They are reloaded when they change.
	Cert, Key string
	// Access configures authentication; the zero value turns it off.
	Access access.Config
	// Hosts are the names under which clients reach the edge. A request whose Host
	// is not one of them, localhost or an IP address is rejected with 421, as protection
	// against DNS rebinding.
	Hosts []string
	// Origins are the origins whose pages may call the API from a browser. Other
	// cross-origin requests that change state are rejected with 403.
	Origins Origins
	// Publisher publishes the catalog of Agentic Resource Discovery; the zero value: 404.
	Publisher ard.Publisher
	// BodyMemory bounds the bytes of the bodies of requests and responses in memory,
	// divided among tenants. A request that exceeds it is refused with 503. 0: 512 MiB.
	BodyMemory int64
	// Connections bounds the open connections, divided among client addresses. Further
	// connections are closed when they are accepted. 0: 16,384.
	Connections int64
	// ClusterHealth describes a problem of the NATS cluster, empty for none, and
	// reports whether it has a quorum; nil: unknown, outside the process of the server.
	ClusterHealth func() (problem string, quorum bool)

	// Tests replace the bound of event streams, and shorten defaultKeepAlive.
	streams   *admission.Pool
	keepAlive time.Duration
}

// newEdge returns the edge of the configuration. It accepts requests until acceptCtx ends, and cancels them
// when requestCtx ends.
func newEdge(acceptCtx, requestCtx context.Context, c Config) *edge {
	bodyMemory := cmp.Or(c.BodyMemory, defaultBodyMemory)
	e := &edge{
		conn: c.Conn, log: slog.New(bus.LogHandler(c.Log.Handler())), acceptCtx: acceptCtx, requestCtx: requestCtx,
		streams:       cmp.Or(c.streams, admission.NewPool(maxStreams)),
		messages:      admission.NewQueue(maxMessages),
		longWork:      admission.NewLongPool(),
		refusals:      rate.NewLimiter(promptRefusals, promptRefusals/10),
		bodies:        admission.NewPool(bodyMemory),
		keepAlive:     cmp.Or(c.keepAlive, defaultKeepAlive),
		origins:       c.Origins,
		analysis:      bus.Analyze,
		clusterHealth: c.ClusterHealth,
		publisher:     c.Publisher,
	}
	if c.AnalyzeTimeout > 0 {
		e.analysis.Timeout = c.AnalyzeTimeout
	}
	if e.clusterHealth == nil {
		e.clusterHealth = func() (string, bool) { return "", true }
	}
	e.authenticator = access.Open(c.Access, c.Conn, e.log)
	telemetry.MemoryBudget("body", bodyMemory, e.bodies.Used)
	return e
}

// edge is what all requests share.
type edge struct {
	conn          *bus.Conn
	log           *slog.Logger
	describe      func() (describe.Description, error) // of the routes
	authenticator *access.Authenticator                // nil: authentication is off
	origins       Origins
	streams       *admission.Pool  // open event streams
	messages      *admission.Queue // of the Model Context Protocol, but for analyses that have begun
	longWork      *admission.Pool  // CPUs for long parts of requests
	refusals      *rate.Limiter    // of refusals without a delay
	bodies        *admission.Pool  // bytes of request bodies
	watermark     watermark
	requestCtx    context.Context // parent of the contexts of requests; ends when the drain times out
	acceptCtx     context.Context // ends when the drain begins and no new requests are accepted
	keepAlive     time.Duration   // of streams
	analysis      bus.Stream[schemas.Analysis]
	clusterHealth func() (problem string, quorum bool)
	publisher     ard.Publisher
}

// draining reports whether the edge accepts no more requests.
func (e *edge) draining() bool { return e.acceptCtx.Err() != nil }

// stopped reports whether requests in flight are being canceled.
func (e *edge) stopped() bool { return e.requestCtx.Err() != nil }
