package register_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/projection"
	"cairn/services/internal/quota"
	"cairn/services/register"
)

// serveUnavailable answers registrations with an Elasticsearch URL that rejects
// connections.
func serveUnavailable(t testing.TB) *bus.Conn {
	t.Helper()
	conn := bustest.Open(t)
	c := setupCatalog(t, conn)
	embedder, err := embed.Open(t.Context(), "lexical:")
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Open("http://127.0.0.1:1", embedder, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := projection.Setup(t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	p, err := projection.Open(t.Context(), projection.Deps{
		Conn: conn, Catalog: c, Index: ix.(index.Migrator), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ix.Close)
	t.Cleanup(p.Close)
	serveCatalog(t, conn, register.Deps{Catalog: c, WaitVisible: p.WaitVisible, Projector: p}, quota.Amount{})
	return conn
}

func TestRegisterIndexUnavailable(t *testing.T) {
	t.Parallel()
	conn := serveUnavailable(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than a registration may wait
	defer cancel()
	reply, err := bus.RegisterSkill.Forward(ctx, conn, skill(1))
	if err != nil || string(reply.Body) != `{"skill_id":"net.audit1","indexed":false}` || reply.Token.Revision != 1 {
		t.Errorf("got %s at revision %d, %v, want an accepted registration that is not indexed", reply.Body,
			reply.Token.Revision, err)
	}
	h, err := bus.Health("register").Call(t.Context(), conn, schemas.Nothing{})
	if err != nil || h.Status != schemas.StatusDegraded || len(h.Degraded) != 1 ||
		!strings.Contains(h.Degraded[0], "index unavailable") {
		t.Errorf("got %+v, %v, want degraded by the index", h, err)
	}
	if _, err := bus.Reindex.Call(t.Context(), conn, schemas.Nothing{}); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
	}
}

func TestReindexEmbedded(t *testing.T) {
	t.Parallel()
	_, conn, _ := serve(t)
	_, err := bus.Reindex.Call(t.Context(), conn, schemas.Nothing{})
	if !errors.Is(err, schemas.ErrNotImplemented) {
		t.Errorf("got %v, want %v", err, schemas.ErrNotImplemented)
	}
}
