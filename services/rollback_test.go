package services_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/services"
	"cairn/services/internal/catalog"
	"cairn/services/register"
	"cairn/test/wait"
)

// TestCatalogRollback replaces the data of the NATS server by an older copy: Run ends, also when the log has grown
// beyond the applied revision before a worker has reconnected.
func TestCatalogRollback(t *testing.T) {
	t.Parallel()
	for _, later := range []int{0, 1, 20} {
		t.Run(fmt.Sprint(later, " writes after it"), func(t *testing.T) {
			t.Parallel()
			address, dir, older := bustest.FreeAddress(t), t.TempDir(), t.TempDir()
			server := start(t, dir, address)
			conn := dial(t, address)
			config := services.Defaults()
			config.Roles, config.Log = []string{"register", "resolve"}, slog.New(slog.DiscardHandler)
			if err := services.Setup(t.Context(), conn, conn, config); err != nil {
				t.Fatal(err)
			}
			server.Stop()
			if err := os.CopyFS(older, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			server = start(t, dir, address)

			ready, ended := make(chan struct{}), make(chan error, 1)
			go func() { ended <- services.Run(t.Context(), conn, config, func() { close(ready) }) }()
			select {
			case <-ready:
			case err := <-ended:
				t.Fatal(err)
			}
			last := put(t, conn, "lost", 5)
			if err := register.ConfirmVisible(conn, openCatalog(t, conn))(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			server.Stop()
			server = start(t, older, address)
			t.Cleanup(server.Stop)
			put(t, dial(t, address), "new", later)
			if err := <-ended; !errors.Is(err, services.ErrCatalogReplaced) {
				t.Errorf("got %v, want %v", err, services.ErrCatalogReplaced)
			}
		})
	}
}

func start(t *testing.T, dir, address string) *natsserver.Server {
	t.Helper()
	server, err := natsserver.Start(dir, address)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func dial(t *testing.T, address string) *bus.Conn {
	t.Helper()
	conn, err := bus.Open("nats://"+address, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	if err := conn.WaitConnected(ctx); err != nil {
		t.Fatal(err)
	}
	return conn
}

func openCatalog(t *testing.T, conn *bus.Conn) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(t.Context(), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// put writes n records and returns the revision of the last one.
func put(t *testing.T, conn *bus.Conn, name string, n int) (last uint64) {
	t.Helper()
	c := openCatalog(t, conn)
	for i := range n {
		var err error
		key := catalog.Key{Kind: schemas.KindTool, ID: fmt.Sprintf("%s.tool.t%02d", name, i)}
		if last, err = c.Put(t.Context(), key, fmt.Appendf(nil, `{"tool_id":%q}`, key.ID)); err != nil {
			t.Fatal(err)
		}
	}
	return last
}
