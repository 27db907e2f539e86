package bus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/admission"
	"cairn/bus/replay"
	"cairn/bus/retry"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Conn is a connection to a NATS server. It reconnects automatically. While it is lost, requests are
// retried or fail with schemas.ErrUnavailable (see Requests in the package documentation). A Conn may
// be used concurrently.
type Conn struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	requests *requests
	outages  outages
	queues   queues
	budget   *retry.Budget // shared by all requests
	readConn *Conn         // for reads from JetStream; nil: this connection
	lister   *replay.Lister

	mu sync.Mutex
	up bool // as exported by the metrics

	url          string
	options      []nats.Option   // of both connections
	outbound     *admission.Pool // bytes of unconfirmed large messages
	bulkMu       sync.Mutex
	bulkRequests *requests // over a separate connection; nil: not opened

	closed chan struct{}
}

// Open connects to the server at url (nats://, tls://, ws:// or wss://, several
// separated by commas), and keeps trying in the background when it is unavailable.
// name appears in the server's monitoring. The caller closes the connection.
func Open(url, name string, options ...nats.Option) (*Conn, error) {
	if strings.HasPrefix(url, "embedded:") {
		return nil, fmt.Errorf("connect to %s: an embedded server is reachable only in the process that starts it", url)
	}
	if err := checkURLs(url); err != nil {
		return nil, err
	}
	return connect(url, name, options...)
}

// OpenInProcess is like Open, without a network connection, for a server in this process.
func OpenInProcess(server nats.InProcessConnProvider, name string, options ...nats.Option) (*Conn, error) {
	return connect("", name, append(options, nats.InProcessServer(server))...)
}

func connect(url, name string, extra ...nats.Option) (c *Conn, err error) {
	c = &Conn{
		url: url, options: extra, closed: make(chan struct{}), budget: retry.NewBudget(), lister: replay.NewLister(),
		outages:  outages{waiting: admission.NewPool(maxUndelivered)},
		outbound: admission.NewPool(outboundBytes),
	}
	closed := nats.ClosedHandler(func(*nats.Conn) { close(c.closed) })
	if c.requests, err = c.dial(name, c.setConnected, closed); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	c.nc = c.requests.nc
	c.outages.nc = c.nc
	c.js, _ = jetstream.New(c.nc, jetstream.WithDefaultTimeout(3*time.Second)) // fails for invalid options
	telemetry.ConnectionsWanted.Inc()
	return c, nil
}

// User returns the NATS user of the connection: the name in the URL, or the public NKey; empty: neither.
func (c *Conn) User() string {
	if u, err := url.Parse(c.nc.ConnectedUrl()); err == nil && userOf(u) != "" {
		return userOf(u)
	}
	return c.nc.Opts.Nkey
}

// dial opens a connection for requests. It calls changed when the connection is established or lost.
func (c *Conn) dial(name string, changed func(up bool), extra ...nats.Option) (q *requests, err error) {
	q = &requests{budget: c.budget, outages: &c.outages, outbound: c.outbound, waiting: map[string]chan *nats.Msg{}}
	q.setConnected(true)
	established := func(*nats.Conn) { q.setConnected(true); changed(true) }
	lost := func(*nats.Conn, error) { q.setConnected(false); changed(false) }
	q.nc, err = nats.Connect(c.url, slices.Concat(options(name), c.options, extra, []nats.Option{
		nats.ConnectHandler(established), nats.ReconnectHandler(established), nats.DisconnectErrHandler(lost),
	})...)
	if err != nil {
		return nil, err
	}
	q.prefix = q.nc.NewInbox() + "."
	if _, err = q.nc.Subscribe(q.prefix+"*", q.dispatch); err != nil {
		q.nc.Close()
	}
	return q, err
}

// maxInline is the largest body that is sent over the connection for control traffic, in bytes.
// Larger bodies use the bulk connection: in the request of an Endpoint, and in chunks after the
// request of a run, once a worker has admitted it.
const maxInline = 256 << 10

// bulk returns the connection for large requests and for chunks of bodies, which would delay
// heartbeats, acknowledgements and other requests. A worker receives all registrations over it.
// The first call opens it.
func (c *Conn) bulk() (*requests, error) {
	c.bulkMu.Lock()
	defer c.bulkMu.Unlock()
	if c.nc.IsClosed() {
		return nil, nats.ErrConnectionClosed
	}
	if c.bulkRequests == nil {
		q, err := c.dial(c.nc.Opts.Name+" bulk", func(bool) {})
		if err != nil {
			return nil, err
		}
		c.bulkRequests = q
	}
	return c.bulkRequests, nil
}

// setConnected records whether the connection is established.
func (c *Conn) setConnected(up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case up && !c.up:
		telemetry.Connections.Inc()
	case !up && c.up:
		telemetry.Connections.Dec()
	}
	if c.up = up; up {
		c.outages.connection.end()
	} else {
		c.outages.connection.recordFailure()
	}
}

// Connected reports whether the connection is established.
func (c *Conn) Connected() bool { return c.nc.IsConnected() }

// WaitConnected waits until the connection is established or ctx ends, and then returns its error.
func (c *Conn) WaitConnected(ctx context.Context) error { return waitConnected(ctx, c.nc) }

// JetStream returns the JetStream context of the connection.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// SetReadConn makes c read API keys and the replayed events of runs over r. The user of r has no
// other permission, and its account has no streams: JetStream replies to any subject that a
// request names, so the requests of an edge to JetStream need an account in which that is
// harmless. c closes r. Call SetReadConn before c is used.
func (c *Conn) SetReadConn(r *Conn) { c.readConn = r }

// ReadConn returns the connection that SetReadConn set, or c.
func (c *Conn) ReadConn() *Conn {
	if c.readConn == nil {
		return c
	}
	return c.readConn
}

// Closed returns a channel that is closed when the connection is closed and will not be reopened.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// MaxPayload returns the server's max_payload in bytes.
func (c *Conn) MaxPayload() int64 { return c.nc.MaxPayload() }

// URL returns the URL of the current or last server, without its password.
func (c *Conn) URL() string { return c.nc.ConnectedUrlRedacted() }

// flush flushes the established connections, with a timeout of a second each.
func (c *Conn) flush() {
	open := []*nats.Conn{c.nc}
	c.bulkMu.Lock()
	if c.bulkRequests != nil {
		open = append(open, c.bulkRequests.nc)
	}
	c.bulkMu.Unlock()
	for _, nc := range open {
		if nc.IsConnected() {
			_ = nc.FlushTimeout(time.Second) // fails if the connection is lost meanwhile
		}
	}
}

// Close flushes and closes the connection.
func (c *Conn) Close() {
	if c.readConn != nil {
		c.readConn.Close()
	}
	c.flush()
	c.nc.Close()
	c.bulkMu.Lock()
	defer c.bulkMu.Unlock()
	if c.bulkRequests != nil {
		c.bulkRequests.nc.Close()
		c.bulkRequests.setConnected(false)
	}
	c.requests.setConnected(false)
	c.setConnected(false)
	telemetry.ConnectionsWanted.Dec()
}

// transportError returns the schemas error for a failed exchange with the server.
func transportError(subject string, err error) error {
	var declared *schemas.Error
	switch {
	case errors.As(err, &declared):
		return err
	case errors.Is(err, nats.ErrNoResponders):
		telemetry.NoResponders.WithLabelValues(subject).Inc()
		return schemas.ErrUnavailable.Because("no worker answers " + subject)
	case undelivered(err):
		return schemas.ErrUnavailable.Because("NATS is unavailable")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return schemas.ErrTimeout.Because("no reply from " + subject + " in time")
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, nats.ErrMaxPayload):
		return schemas.ErrTooLarge.Because("the message exceeds max_payload of the NATS server")
	default:
		return schemas.ErrUnavailable.Because("NATS: " + err.Error())
	}
}
