// Package bus is how Cairn's parts talk: every subject bound once to its
// request and its reply, typed request-reply, event streams, deadlines, and
// the embedded server. Only schemas is imported of ours, and outside this
// package nobody spells a subject.
package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Conn is a connection to a NATS server. It may be used concurrently, and
// reconnects by itself; while it is away, calls fail at once with
// schemas.ErrUnavailable.
type Conn struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	inbox inbox
	reads *Conn // nil: the connection itself

	mu   sync.Mutex
	away context.Context // ends when the connection is lost; a new one per connection
	lose context.CancelFunc
	up   bool // as it is counted

	closed chan struct{}
}

// Open connects to the server at url (nats://, tls://, ws:// or several with
// commas between), or keeps trying when it is away. name is shown by the
// server's monitoring. The caller closes it.
func Open(url, name string, options ...Option) (*Conn, error) {
	if strings.HasPrefix(url, "embedded:") {
		return nil, fmt.Errorf("connect to %s: an embedded server lives in the process that starts it", url)
	}
	if err := checkURLs(url); err != nil {
		return nil, err
	}
	return connect(url, name, options...)
}

func connect(url, name string, more ...nats.Option) (*Conn, error) {
	c := &Conn{closed: make(chan struct{})}
	c.inbox.saved.Store(againBurst * againEvery)
	options := append([]nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(),         // a password that is being changed is right again soon
		nats.ReconnectBufSize(-1),           // fail at once rather than send later
		nats.PingInterval(10 * time.Second), // less would leave a server while one's own answer waits behind many events
		nats.ConnectHandler(func(*nats.Conn) { c.connected() }),
		nats.ReconnectHandler(func(*nats.Conn) { c.connected() }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { c.disconnected() }),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) { asyncError(name, s, err) }),
	}, more...)
	c.away, c.lose = context.WithCancel(context.Background())
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	c.nc = nc
	c.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(3*time.Second))
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	telemetry.Connection(1)
	return c, nil
}

// asyncError logs what the server or the client library says outside of any call.
func asyncError(name string, s *nats.Subscription, err error) {
	subject := ""
	if s != nil {
		subject = s.Subject
	}
	slog.Warn("nats", "connection", name, "subject", subject, "err", err)
}

func (c *Conn) connected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.up {
		c.up = true
		telemetry.Connected(1)
	}
	if c.away.Err() != nil {
		c.away, c.lose = context.WithCancel(context.Background())
	}
}

func (c *Conn) disconnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up {
		c.up = false
		telemetry.Connected(-1)
	}
	c.lose()
}

// lost is a context that ends when the present connection does.
func (c *Conn) lost() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away
}

// Connected reports whether the server can be reached now.
func (c *Conn) Connected() bool { return c.nc.IsConnected() }

// WaitConnected returns when the server can be reached, or with ctx's error.
func (c *Conn) WaitConnected(ctx context.Context) error {
	changes := c.nc.StatusChanged(nats.CONNECTED)
	defer c.nc.RemoveStatusListener(changes)
	for !c.nc.IsConnected() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes:
		}
	}
	return nil
}

// JetStream is the server's JetStream, for the services that keep things there.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// ReadOver has API keys and the events of runs read over r, a connection of a
// user who may do nothing else, and in whose account no stream exists: JetStream
// replies to any subject that a request names, so the user of an edge needs an
// account for its requests to JetStream in which that is harmless. c closes r.
// It is called before c is used.
func (c *Conn) ReadOver(r *Conn) { c.reads = r }

// Reader returns the connection that ReadOver set, or else c.
func (c *Conn) Reader() *Conn {
	if c.reads == nil {
		return c
	}
	return c.reads
}

// Closed is closed when the connection has ended for good.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// MaxPayload is the largest message that the server takes, in bytes.
func (c *Conn) MaxPayload() int64 { return c.nc.MaxPayload() }

// URL is the server that is connected, or was last.
func (c *Conn) URL() string { return c.nc.ConnectedUrlRedacted() }

// Close sends what is buffered and ends the connection.
func (c *Conn) Close() {
	if c.reads != nil {
		c.reads.Close()
	}
	if c.nc.IsConnected() {
		_ = c.nc.FlushTimeout(time.Second) // the connection is going away either way
	}
	c.nc.Close()
	c.disconnected()
	telemetry.Connection(-1)
}

// transportError says what a failed exchange with the server means to a caller.
func transportError(subject string, err error) error {
	var known *schemas.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, nats.ErrNoResponders):
		telemetry.Unheard(subject)
		return schemas.ErrUnavailable.Because("no worker answers " + subject)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return schemas.ErrTimeout.Because("no answer from " + subject + " in time")
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, nats.ErrMaxPayload):
		return schemas.ErrTooLarge.Because("the message is larger than the NATS server takes (max_payload)")
	default:
		return schemas.ErrUnavailable.Because("NATS: " + err.Error())
	}
}
