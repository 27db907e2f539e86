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
	"cairn/edge"
	"cairn/edge/access"
	"cairn/schemas"
	"cairn/services"

	"cairn/test/cairntest"
)

// system is a Cairn that runs.
type system struct {
	edge      string // URL
	impatient string // URL of the edge that cuts analyses off; empty: there is none
	nats      string // URL
	data      string
	key       string // of an admin for all tenants, where callers are asked who they are
	server    *bus.Server
	workers   []*cairntest.Process // where they are processes
	edges     []*cairntest.Process

	once    sync.Once
	halt    func() error
	stopped error
}

// stop ends the system in order; a second call answers as the first.
func (s *system) stop() error {
	s.once.Do(func() {
		s.stopped = s.halt()
		s.server.Stop()
	})
	return s.stopped
}

// crash ends the NATS server under the system.
func (s *system) crash() { s.server.Stop() }

// revive starts the NATS server again where it was.
func (s *system) revive() error {
	server, err := bus.StartServer(s.data, s.nats[len("nats://"):])
	if err != nil {
		return err
	}
	s.server = server
	return s.setup()
}

// serverOf starts the NATS server of a system.
func serverOf(c setup) (*system, error) {
	server, err := bus.StartServer(c.data, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &system{server: server, nats: server.URL(), data: c.data}
	if err := s.setup(); err != nil {
		server.Stop()
		return nil, err
	}
	if c.keys {
		if s.key, err = s.mint(schemas.RoleAdmin); err != nil {
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
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	c := services.Defaults()
	c.Log = slog.New(slog.DiscardHandler)
	return services.Setup(ctx, conn, conn, c)
}

// connect is from inside this process, as cairn up does, or over TCP.
func (s *system) connect(tcp bool) (*bus.Conn, error) {
	if tcp {
		return bus.Open(s.nats, "test-up")
	}
	return s.server.Open("test-up")
}

// together runs everything in this process, as cairn up does.
func together(c setup) (*system, error) {
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
	if s.edge, err = serve(serving, &edges, conn, c, 0); err == nil && c.patience > 0 {
		s.impatient, err = serve(serving, &edges, conn, c, c.patience)
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

// serve runs an edge in g and answers with its URL.
func serve(ctx context.Context, g *errgroup.Group, conn *bus.Conn, c setup, patience time.Duration) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	g.Go(func() error {
		return edge.Serve(ctx, edge.Config{
			Listener: listener, Conn: conn, Log: slog.New(slog.DiscardHandler),
			Drain: services.Defaults().Drain, AnalyzeTimeout: patience, Access: access.Config{Keys: c.keys, Limits: c.limits},
		})
	})
	return "http://" + listener.Addr().String(), nil
}
