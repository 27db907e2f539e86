package edge

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"time"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/telemetry"
	"cairn/edge/access"
	"cairn/schemas"
)

const (
	maxStreams  = 4096 // open event streams of an edge, divided among tenants
	maxMessages = 1024 // messages of the Model Context Protocol in progress or waiting, divided among tenants
	// promptRefusals is the rate of immediate rejections per second. Further
	// ones are delayed by refusalDelay on average, and by at least half of it: one takes about
	// 100 µs of CPU time, and refusals of clients that ignore Retry-After would otherwise
	// use the CPU time of other tenants (BenchmarkFairness).
	promptRefusals = 500
	refusalDelay   = 3 * time.Second
)

var errOverload = schemas.ErrUnavailable.Because("the edge is overloaded: no slot is free for this tenant")

// isRefusal reports whether err is the refusal of a request under load, by the edge, its connection to NATS or every
// worker; other errors of its code are not.
func isRefusal(err error) bool {
	return err == error(errOverload) || err == error(errBodyMemory) || bus.Busy(err) //nolint:errorlint // the first two are not wrapped
}

// refuse counts a refusal and returns its reason, after a delay if the rate exceeds promptRefusals.
func refuse(x *exchange, reason error) error {
	telemetry.HTTPRefused.Inc()
	if x.edge.refusals.Allow() {
		return reason
	}
	delay := time.NewTimer(refusalDelay/2 + rand.N(refusalDelay))
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-x.r.Context().Done():
	}
	return reason
}

// enterStream counts an event stream of the caller until release is called.
func enterStream(x *exchange) (release func(), err error) {
	tenant := bus.AdmissionKey(x.caller, nil)
	if !x.edge.streams.Acquire(tenant, 1) {
		return nil, errOverload
	}
	releaseStream, err := x.edge.authenticator.Enter(x.caller)
	if err != nil {
		x.edge.streams.Release(tenant, 1)
		return nil, err
	}
	return func() { releaseStream(); x.edge.streams.Release(tenant, 1) }, nil
}

// Limits of each route that needs no credential. Such a request costs microseconds;
// the limits bound the cost of a flood.
const (
	anonymousRate         = 100 // requests per second of one client address
	anonymousBurst        = 200
	maxAnonymousAddresses = 1 << 14 // client addresses with a rate
	maxAnonymousRequests  = 1024    // in flight, divided among addresses
)

// anonymousLimiter limits the requests to one route that needs no credential.
type anonymousLimiter struct {
	rates    *access.Rates
	requests *admission.Pool
}

func newAnonymousLimiter() *anonymousLimiter {
	return &anonymousLimiter{access.NewRates(anonymousRate, anonymousBurst, maxAnonymousAddresses),
		admission.NewPool(maxAnonymousRequests)}
}

// enter admits the request and counts it as in flight until release is called. It sets
// Retry-After for a refused one.
func (l *anonymousLimiter) enter(w http.ResponseWriter, r *http.Request) (release func(), err *schemas.Error) {
	address := clientAddress(r.RemoteAddr)
	if wait := l.rates.Take(address); wait > 0 {
		setRetryAfter(w, wait)
		return nil, schemas.ErrTooManyRequests.Because(
			"the client address exceeds the rate limit for requests without a credential")
	}
	if !l.requests.Acquire(address, 1) {
		return nil, schemas.ErrTooManyRequests.Because("the limit of concurrent requests without a credential is reached")
	}
	return func() { l.requests.Release(address, 1) }, nil
}

// clientAddress returns the network address that a request or connection of the peer
// counts against: its address, for IPv6 its /64, which usually belongs to one host.
func clientAddress(remote string) string {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil { // not a TCP connection
		return remote
	}
	address := peer.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}

const (
	// defaultConnections is Config.Connections when it is 0.
	defaultConnections = 16 << 10
	// monitorConnections bounds the connections of a Monitor.
	monitorConnections = 32
)

// limitedListener bounds the open connections and divides them among client addresses.
// It closes those beyond the limit immediately. The server must call track for each change
// of a connection's state.
type limitedListener struct {
	net.Listener
	open *admission.Pool
	log  *slog.Logger
}

func newLimitedListener(l net.Listener, connections int64, log *slog.Logger) *limitedListener {
	return &limitedListener{l, admission.NewPool(connections), log}
}

// Accept implements net.Listener. It logs errors, after which net/http retries; the
// logger limits repeated lines.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.log.Warn("accept connection failed", "err", err)
			}
			return nil, err
		}
		address := clientAddress(conn.RemoteAddr().String())
		if l.open.Acquire(address, 1) {
			return conn, nil
		}
		_ = conn.Close() // nothing was sent
		l.log.Warn("connection limit reached", "address", address, "open", l.open.Used())
	}
}

// track releases a closed connection. It is a hook of the server and not a wrapper of the
// connection, because net/http needs the *net.TCPConn to close one direction first.
func (l *limitedListener) track(c net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		l.open.Release(clientAddress(c.RemoteAddr().String()), 1)
	}
}
