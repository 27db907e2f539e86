// Package bustest runs a real NATS server inside tests.
package bustest

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"cairn/bus"
)

// Open starts a server with JetStream for the test and connects to it.
func Open(t testing.TB) *bus.Conn {
	t.Helper()
	_, conn := Start(t)
	return conn
}

// Start is Open for a test that also needs the server.
func Start(t testing.TB) (*bus.Server, *bus.Conn) {
	t.Helper()
	server, err := bus.StartServer(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server, Dial(t, server)
}

// Dial opens another connection to the server.
func Dial(t testing.TB, server *bus.Server) *bus.Conn {
	t.Helper()
	conn, err := server.Open(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// Service starts a service on conn and stops it with the test.
func Service(t testing.TB, conn *bus.Conn, name string) *bus.Service {
	t.Helper()
	return start(t, conn, name, slog.DiscardHandler)
}

// Fragile is Service for a fuzz target: a handler that panics, or returns a value that
// cannot be encoded, ends the process.
func Fragile(f *testing.F, conn *bus.Conn, name string) *bus.Service {
	f.Helper()
	return start(f, conn, name, slog.NewTextHandler(fragile{}, nil))
}

type fragile struct{}

// Write implements io.Writer for a logger.
func (fragile) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`err="panic: `)) || bytes.Contains(line, []byte(`err="encode `)) {
		panic(string(line))
	}
	return len(line), nil
}

func start(t testing.TB, conn *bus.Conn, name string, log slog.Handler) *bus.Service {
	t.Helper()
	s, err := bus.Start(conn, name, 256, slog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop service %s: %v", name, err)
		}
	})
	return s
}
