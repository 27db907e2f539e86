package services_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/services"
	"cairn/services/internal/catalog"
	"cairn/test/wait"
)

// TestDamagedTags damages the file of the tags: the health of the tags service reports how many are lost, also after
// a restart, until an operator accepts the loss.
func TestDamagedTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		end    float64 // of the damage, as a fraction of the file
		reason string
	}{
		{"the last bytes", 0.99, "bucket cairn_tags has lost messages: about 1,"},
		{"the middle", 0.7, "bucket cairn_tags has lost messages: about 13,"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir, config := t.TempDir(), services.Defaults()
			config.Roles, config.Log = []string{"tags"}, slog.New(slog.DiscardHandler)
			conn := runTags(t, dir, config)
			for n := range 40 {
				write := schemas.TagWrite{Tag: schemas.Tag{RequestID: fmt.Sprintf("r%02d", n), Flow: "f"}}
				if _, err := bus.WriteTag.Call(t.Context(), conn, write); err != nil {
					t.Fatal(err)
				}
			}
			dir = copyOf(t, dir)
			file := filepath.Join(dir, "jetstream", "$G", "streams", "KV_cairn_tags", "msgs", "1.blk")
			block, err := os.ReadFile(file)
			if err == nil {
				end := int(float64(len(block)) * row.end)
				copy(block[end-8:end], "\xff\xff\xff\xff\xff\xff\xff\xff")
				err = os.WriteFile(file, block, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				conn = runTags(t, dir, config)
				if h := healthOf(t, conn); len(h.Degraded) != 1 || !strings.HasPrefix(h.Degraded[0], row.reason) {
					t.Errorf("got %q, want %q", h.Degraded, row.reason)
				}
				dir = copyOf(t, dir)
			}
			if _, err := services.AcceptLoss(t.Context(), conn, conn); err != nil {
				t.Fatal(err)
			}
			wait.Until(t, "the loss is accepted", func() bool { return healthOf(t, conn).Status == schemas.StatusOK })
			if err := services.Setup(t.Context(), conn, conn, config); err != nil {
				t.Fatal(err)
			}
			s, err := conn.JetStream().Stream(t.Context(), "KV_cairn_tags")
			if err != nil || len(bucket.Problems(s.CachedInfo())) > 0 {
				t.Errorf("after another setup: got %q, %v", bucket.Problems(s.CachedInfo()), err)
			}
		})
	}
}

// TestRestoredRecordsAreAudited accepts the loss of a catalog: the audit log has the records that are restored.
func TestRestoredRecordsAreAudited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := setUp(t, dir)
	c, err := catalog.Open(t.Context(), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(10) {
		key := catalog.Key{Kind: schemas.KindSkill, Tenant: "acme", ID: fmt.Sprintf("a.b%d", n)}
		if _, err := c.Put(t.Context(), key, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "the history has the records", func() bool {
		s, err := conn.JetStream().Stream(t.Context(), catalog.HistoryStream)
		return err == nil && s.CachedInfo().State.LastSeq == 10
	})
	dir = copyOf(t, dir)
	file := filepath.Join(dir, "jetstream", "$G", "streams", catalog.Stream, "msgs", "1.blk")
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	conn = setUp(t, dir)
	restored, err := services.AcceptLoss(t.Context(), conn, conn)
	if err != nil || len(restored) == 0 {
		t.Fatalf("restored %q, %v", restored, err)
	}
	log, err := audit.Open(t.Context(), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	page, err := log.Page(t.Context(), schemas.AuditQuery{Action: schemas.ActionRestore, TenantID: new("acme")})
	if err != nil || len(page.Entries) != len(restored) || page.Entries[0].Kind != schemas.KindSkill ||
		page.Entries[0].Revision == "" {
		t.Errorf("got %+v, %v, want an entry of each of %q", page.Entries, err, restored)
	}
}

// setUp returns a connection to a server with the data directory and the streams.
func setUp(t *testing.T, dir string) *bus.Conn {
	t.Helper()
	server, err := natsserver.Start(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn, config := bustest.Dial(t, server), services.Defaults()
	config.Log = slog.New(slog.DiscardHandler)
	if err := services.Setup(t.Context(), conn, conn, config); err != nil {
		t.Fatal(err)
	}
	return conn
}

// runTags runs the service on a server with the data directory until the test ends.
func runTags(t *testing.T, dir string, config services.Config) *bus.Conn {
	t.Helper()
	server, err := natsserver.Start(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn := bustest.Dial(t, server)
	if err := services.Setup(t.Context(), conn, conn, config); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- services.Run(ctx, conn, config, func() { close(ready) }) }()
	t.Cleanup(func() {
		if cancel(); <-ended != nil {
			t.Error("the service has failed")
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return conn
}

func healthOf(t *testing.T, conn *bus.Conn) schemas.Health {
	t.Helper()
	h, err := bus.Health("tags").Call(t.Context(), conn, schemas.Nothing{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// copyOf returns a copy of the data directory, which has what survives a crash.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return copied
}
