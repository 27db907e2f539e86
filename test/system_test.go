package test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/edge"
	"cairn/edge/access"
	"cairn/edge/ard"
	"cairn/schemas"
	"cairn/services"

	"cairn/test/cairntest"
)

// system is a running Cairn.
type system struct {
	edge       string // URL
	secondEdge string // URL of the edge with a short timeout; empty: none
	nats       string // URL
	data       string
	key        string // of an admin for all tenants, if keys are required
	server     *natsserver.Server
	workers    []*cairntest.Process // empty in one process
	edges      []*cairntest.Process

	once    sync.Once
	halt    func() error
	stopped error
}

// stop stops the system in order. Further calls return the first result.
func (s *system) stop() error {
	s.once.Do(func() {
		s.stopped = s.halt()
		s.server.Stop()
	})
	return s.stopped
}

// crash stops the NATS server under the system.
func (s *system) crash() { s.server.Stop() }

// revive restarts the NATS server at the same address.
func (s *system) revive() error {
	server, err := natsserver.Start(s.data, s.nats[len("nats://"):])
	if err != nil {
		return err
	}
	s.server = server
	return s.setup()
}

// serverOf starts the NATS server of a system and creates its streams.
func serverOf(c setup) (*system, error) {
	address := "127.0.0.1:0"
	if c.tcp { // revive needs a port that no connection uses meanwhile
		var err error
		if address, err = bustest.UnusedAddress(); err != nil {
			return nil, err
		}
	}
	server, err := natsserver.Start(c.data, address)
	if err != nil {
		return nil, err
	}
	s := &system{server: server, nats: server.URL(), data: c.data}
	if err := s.setup(); err != nil {
		server.Stop()
		return nil, err
	}
	if c.keys {
		if s.key, err = s.createKey(schemas.RoleAdmin); err != nil {
			server.Stop()
			return nil, err
		}
	}
	return s, nil
}

// setup creates the streams, as cairn up and cairn setup do.
func (s *system) setup() error {
	conn, err := s.server.Open("test-setup")
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), recoveryTimeout)
	defer cancel()
	c := services.Defaults()
	c.Log = slog.New(slog.DiscardHandler)
	return services.Setup(ctx, conn, conn, c)
}

// connect connects in-process, as "cairn up" does, or over TCP.
func (s *system) connect(tcp bool) (*bus.Conn, error) {
	if tcp {
		return bus.Open(s.nats, "test-up")
	}
	return s.server.Open("test-up")
}

// inProcess runs everything in this process, as "cairn up" does.
func inProcess(c setup) (*system, error) {
	s, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	conn, err := s.connect(c.tcp)
	if err != nil {
		s.server.Stop()
		return nil, err
	}
	serving, leave := context.WithCancel(context.Background())
	working, rest := context.WithCancel(context.Background())
	var edges, work errgroup.Group
	s.halt = func() error {
		leave()
		err := edges.Wait()
		rest()
		err = errors.Join(err, work.Wait())
		conn.Close()
		return err
	}
	if err := awaitServices(working, conn, c, &work); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if s.edge, err = serve(serving, &edges, conn, c, 0); err == nil && c.analyzeTimeout > 0 {
		s.secondEdge, err = serve(serving, &edges, conn, c, c.analyzeTimeout)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// awaitServices runs all services in g and returns when they serve.
func awaitServices(ctx context.Context, conn *bus.Conn, c setup, g *errgroup.Group) error {
	if c.idle {
		return nil
	}
	config := services.Defaults()
	config.Log, config.Render, config.Model = slog.New(slog.DiscardHandler), c.render, modelURL(c)
	if c.index != "" {
		config.Index = c.index
	}
	if c.embed != "" {
		config.Embed = c.embed
	}
	if c.tagTTL > 0 {
		config.TagTTL = c.tagTTL
	}
	if c.grace > 0 {
		config.Grace = c.grace
	}
	up, failed := make(chan struct{}), make(chan error, 1)
	g.Go(func() error {
		err := services.Run(ctx, conn, config, func() { close(up) })
		failed <- err
		return err
	})
	select {
	case <-up:
		return nil
	case err := <-failed:
		return fmt.Errorf("services ended before they served: %w", err)
	}
}

// serve runs an edge in g and returns its URL.
func serve(ctx context.Context, g *errgroup.Group, conn *bus.Conn, c setup,
	analyzeTimeout time.Duration) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	publisher, err := ard.NewPublisher(publisherDomain, publisherURL)
	if err != nil {
		return "", err
	}
	g.Go(func() error {
		return edge.Serve(ctx, edge.Config{
			Listener: listener, Conn: conn, Log: slog.New(slog.DiscardHandler),
			Publisher: publisher, Drain: services.Defaults().Drain, AnalyzeTimeout: analyzeTimeout,
			Access: access.Config{Keys: c.keys, Limits: c.limits},
		})
	})
	return "http://" + listener.Addr().String(), nil
}
