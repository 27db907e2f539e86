package edge

import (
	"cmp"
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
	"cairn/bus/telemetry"
)

const (
	readHeaderTimeout = 10 * time.Second // from the connection to the end of the request header
	idleTimeout       = 2 * time.Minute  // between two requests on a connection
	maxHeaderBytes    = 64 << 10
	// drainDelay is the time after the end of ctx in which new requests are accepted:
	// requests that were sent before the client detected the shutdown.
	drainDelay = 250 * time.Millisecond
	// streamEndTimeout is the timeout of streams, after the drain, for their last events.
	streamEndTimeout = time.Second
)

// Serve handles HTTP requests until ctx ends, drains those in flight and returns
// nil, or bus.ErrDrainTimeout when they took longer than Drain.
func Serve(ctx context.Context, c Config) error {
	base, cancelRequests := context.WithCancel(context.Background())
	handler := newHandler(ctx, base, c)
	var background sync.WaitGroup
	background.Go(func() { handler.authenticator.Run(base) })
	defer background.Wait()
	defer cancelRequests()
	listener := newLimitedListener(c.Listener, cmp.Or(c.Connections, defaultConnections), handler.log)
	var unused newConns
	server := &http.Server{
		Handler: handler,
		ConnState: func(c net.Conn, state http.ConnState) {
			unused.track(c, state)
			listener.track(c, state)
		},
		DisableGeneralOptionsHandler: true, // it would answer "OPTIONS *" for any host
		ReadHeaderTimeout:            readHeaderTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		BaseContext:                  func(net.Listener) context.Context { return base },
	}
	server.RegisterOnShutdown(unused.close)
	serve := func() error { return server.Serve(listener) }
	if c.Cert != "" {
		keyPair, err := certificate.Load(c.Cert, c.Key, c.Log)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		telemetry.Certificate("http", keyPair.Ends)
		server.TLSConfig = keyPair.Config()
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
	time.Sleep(drainDelay)
	err := drain(drained, server, cancelRequests)
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		return serveErr
	}
	return err
}

// newConns are the connections that have not sent a request. Browsers open some in
// advance, and http.Server.Shutdown would wait for them.
type newConns struct{ conns sync.Map }

func (u *newConns) track(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		u.conns.Store(c, nil)
	} else {
		u.conns.Delete(c)
	}
}

func (u *newConns) close() {
	u.conns.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close() // the process is shutting down
		return true
	})
}

// drain waits for the requests in flight. When ctx ends first, it cancels them and
// returns bus.ErrDrainTimeout.
func drain(ctx context.Context, server *http.Server, cancelRequests context.CancelFunc) error {
	if server.Shutdown(ctx) == nil {
		return nil
	}
	cancelRequests()
	ctx, cancel := context.WithTimeout(context.Background(), streamEndTimeout)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // the process is shutting down
	}
	return fmt.Errorf("edge: %w", bus.ErrDrainTimeout)
}
