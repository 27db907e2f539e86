package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"cairn/bus"
	"cairn/bus/certificate"
	"cairn/bus/overload"
	"cairn/bus/telemetry"
	"cairn/edge/access"
)

const (
	headerTime  = 10 * time.Second // for the head of a request to arrive
	idleTime    = 2 * time.Minute  // between the requests of one connection
	headerBytes = 64 << 10
	// leaveTime is how long requests are still taken when the edge is told to
	// stop: those that were on their way to a connection that looks idle.
	leaveTime = 250 * time.Millisecond
	// endTime is how long streams have, after the drain, to say how they end.
	endTime = time.Second
)

// Config is what an edge needs.
type Config struct {
	Addr     string       // host:port to listen on
	Listener net.Listener // instead of Addr, when the caller has one; closed by Serve
	Conn     *bus.Conn
	Log      *slog.Logger
	// Drain is how long requests in flight may take once ctx has ended.
	Drain time.Duration
	// AnalyzeTimeout bounds an analysis; 0: as the contract has it.
	AnalyzeTimeout time.Duration
	// Observed says that metrics are served elsewhere: /metrics is no route then.
	Observed bool
	// KeepAlive is how long a stream may be silent before a comment shows that
	// it lives; 0: 10 seconds.
	KeepAlive time.Duration
	// Cert and Key are the files, in PEM, of the certificate that encrypts; empty:
	// nothing does. They are read anew when they change.
	Cert, Key string
	// Access says who is let in; the zero one lets in everybody.
	Access access.Config
	// Hosts are the names under which clients reach the edge. A request whose Host
	// is not one of them, localhost or an IP address is answered 421, as protection
	// against DNS rebinding.
	Hosts []string
	// Overload refuses what comes when there is no processor time left. The caller
	// runs it; nil: Serve has one of its own.
	Overload *overload.Gate
	// BodyMemory is how many bytes the bodies of all requests may take at a time,
	// divided among tenants. A request beyond that is answered 503. 0: 512 MiB.
	BodyMemory int64
	// Trouble says what the NATS cluster lacks, and whether it has a quorum; nil:
	// nobody knows but the services.
	Trouble func() (says string, quorum bool)
}

// Serve answers HTTP requests until ctx ends, then those in flight, and
// returns nil; bus.ErrCutOff when they took longer than the drain. An address
// that cannot be listened on is the error as net has it.
func Serve(ctx context.Context, c Config) error {
	listener := c.Listener
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", c.Addr); err != nil {
			return err
		}
	}
	base, end := context.WithCancel(context.Background())
	handler := newEdge(ctx, base, c)
	var following sync.WaitGroup
	following.Go(func() { handler.gate.Run(base) })
	if c.Overload == nil {
		following.Go(func() { handler.overload.Run(base) })
	}
	defer following.Wait()
	defer end()
	var silent unasked
	server := &http.Server{
		Handler:           handler,
		ConnState:         silent.note,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	server.RegisterOnShutdown(silent.close)
	serve := func() error { return server.Serve(listener) }
	if c.Cert != "" {
		shown, err := certificate.Load(c.Cert, c.Key, c.Log)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		telemetry.Certificate("http", shown.Ends)
		server.TLSConfig = shown.Config()
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- serve() }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	drained, cancel := context.WithTimeout(context.Background(), c.Drain)
	defer cancel()
	time.Sleep(leaveTime)
	err := drain(drained, server, end)
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		return served
	}
	return err
}

// unasked are the connections on which nothing was asked yet. Browsers keep
// some in store, and a server that shuts down waits for them.
type unasked struct{ conns sync.Map }

func (u *unasked) note(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		u.conns.Store(c, nil)
	} else {
		u.conns.Delete(c)
	}
}

func (u *unasked) close() {
	u.conns.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close() // it is going away either way
		return true
	})
}

// drain waits for the requests in flight until ctx ends, then ends them: that is
// bus.ErrCutOff.
func drain(ctx context.Context, server *http.Server, end context.CancelFunc) error {
	if server.Shutdown(ctx) == nil {
		return nil
	}
	end()
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // the connections are going away either way
	}
	return fmt.Errorf("edge: %w", bus.ErrCutOff)
}
