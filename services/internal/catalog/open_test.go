package catalog_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/services/internal/catalog"
	"cairn/test/wait"
)

// startServer starts an embedded server with its files in dir.
func startServer(t testing.TB, dir string, syncAlways bool) *server.Server {
	t.Helper()
	return start(t, &server.Options{DontListen: true, StoreDir: dir, SyncAlways: syncAlways})
}

// startListening is startServer with a port on the loopback interface, -1 for any.
func startListening(t testing.TB, dir string, port int) *server.Server {
	t.Helper()
	return start(t, &server.Options{Host: "127.0.0.1", Port: port, StoreDir: dir, SyncAlways: true})
}

func start(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	o.NoSigs, o.JetStream = true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(wait.Timeout) {
		t.Fatal("server is not ready")
	}
	return s
}

func connect(t testing.TB, s *server.Server) jetstream.JetStream {
	t.Helper()
	return connectBy(t, "", nats.InProcessServer(s))
}

func connectTo(t testing.TB, s *server.Server) jetstream.JetStream {
	t.Helper()
	return connectBy(t, s.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
}

func connectBy(t testing.TB, url string, options ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// open returns a catalog on a new server with sync_interval: always.
func open(t testing.TB) (*catalog.Catalog, jetstream.JetStream) {
	t.Helper()
	js := connect(t, startServer(t, t.TempDir(), true))
	c, err := catalog.Setup(t.Context(), js, bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c, js
}

// testContext returns a context with the deadline of a test step.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	t.Cleanup(cancel)
	return ctx
}

// shortContext returns a context for one of several attempts.
func shortContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

func portOf(t testing.TB, s *server.Server) int {
	t.Helper()
	addr, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("the server listens on %v", s.Addr())
	}
	return addr.Port
}

// reconnected waits until the server responds. Attempts are short because a
// request on the old connection gets no response.
func reconnected(t testing.TB, js jetstream.JetStream) {
	t.Helper()
	ctx := testContext(t)
	for {
		attempt, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		_, err := js.AccountInfo(attempt)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("no response from the server: %v", err)
		}
	}
}
