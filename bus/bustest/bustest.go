// Package bustest runs a real NATS server inside tests.
//
// Servers, connections and services stop with the test that started them, in reverse order. A
// test that cannot start one fails. Servers listen on 127.0.0.1 only and store in temporary
// directories; a [Link] is a proxy that forwards nothing while it is cut.
package bustest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/natsserver"
)

// Open starts a server with JetStream for the test and connects to it.
func Open(t testing.TB) *bus.Conn {
	t.Helper()
	_, conn := Start(t)
	return conn
}

// Start is Open for a test that also needs the server.
func Start(t testing.TB) (*natsserver.Server, *bus.Conn) {
	t.Helper()
	server := serve(t, "")
	return server, Dial(t, server)
}

// Listen starts a server as Start does, which also listens on a port of 127.0.0.1.
func Listen(t testing.TB) *natsserver.Server {
	t.Helper()
	return serve(t, "127.0.0.1:0")
}

func serve(t testing.TB, listen string) *natsserver.Server {
	t.Helper()
	server, err := natsserver.Start(t.TempDir(), listen)
	Must(t, err)
	t.Cleanup(server.Stop)
	return server
}

// Connect connects a NATS client that does not use package bus to the server.
func Connect(t testing.TB, server *natsserver.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(server.URL())
	Must(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// Subscribe calls handle with the messages of the subject. It returns when the server has the subscription.
func Subscribe(t testing.TB, nc *nats.Conn, subject string, handle nats.MsgHandler) {
	t.Helper()
	_, err := nc.Subscribe(subject, handle)
	Must(t, errors.Join(err, nc.Flush()))
}

// Dial opens another connection to the server.
func Dial(t testing.TB, server *natsserver.Server) *bus.Conn {
	t.Helper()
	conn, err := server.Open(t.Name())
	Must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// DialURL opens a connection to the server with the URL.
func DialURL(t testing.TB, url string, options ...nats.Option) *bus.Conn {
	t.Helper()
	conn, err := bus.Open(url, t.Name(), options...)
	Must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// Service starts a service with 256 slots on conn and stops it with the test.
func Service(t testing.TB, conn *bus.Conn, name string) *bus.Service {
	t.Helper()
	return ServiceWithSlots(t, conn, name, 256)
}

// ServiceWithSlots is Service with the number of slots.
func ServiceWithSlots(t testing.TB, conn *bus.Conn, name string, slots int) *bus.Service {
	t.Helper()
	s, err := bus.Start(conn, name, slots, slog.New(slog.DiscardHandler))
	return stopWithTest(t, s, err)
}

// ServiceWithLog is Service with a handler of its log.
func ServiceWithLog(t testing.TB, conn *bus.Conn, name string, log slog.Handler) *bus.Service {
	t.Helper()
	s, err := bus.Start(conn, name, 256, slog.New(log))
	return stopWithTest(t, s, err)
}

// Fragile is Service for a fuzz target: a handler that panics, or returns a value that
// cannot be encoded, ends the process.
func Fragile(f *testing.F, conn *bus.Conn, name string) *bus.Service {
	f.Helper()
	return ServiceWithLog(f, conn, name, slog.NewTextHandler(fragile{}, nil))
}

type fragile struct{}

func (fragile) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`err="panic: `)) || bytes.Contains(line, []byte(`err="encode `)) {
		panic(string(line))
	}
	return len(line), nil
}

// stopWithTest stops a started service with the test.
func stopWithTest(t testing.TB, s *bus.Service, err error) *bus.Service {
	t.Helper()
	Must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop a service: %v", err)
		}
	})
	return s
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
