package resolve_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/usage"
	"cairn/services/resolve"
	"cairn/test/wait"
)

// world holds the catalog and the resolve workers of a test.
type world struct {
	t       testing.TB
	server  *natsserver.Server
	conn    *bus.Conn
	catalog *catalog.Catalog
	worker  *resolve.Resolver

	mu       sync.Mutex
	revision uint64 // of the last put or delete
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server, conn := bustest.Start(t)
	w := &world{t: t, server: server, conn: conn}
	w.catalog = openCatalog(t, conn)
	return w
}

// serving returns a world with a resolve worker.
func serving(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.serve()
	return w
}

func openCatalog(t testing.TB, conn *bus.Conn) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Setup(t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a resolve worker on a separate connection.
func (w *world) serve() {
	w.t.Helper()
	w.serveWith(openEmbedder(w.t, "lexical:"))
}

func openEmbedder(t testing.TB, url string) embed.Embedder {
	t.Helper()
	e, err := embed.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *world) serveWith(e embed.Embedder) {
	w.t.Helper()
	w.start(openIndex(w.t, "embedded:", e), true)
}

func openIndex(t testing.TB, url string, e embed.Embedder) index.Index {
	t.Helper()
	ix, err := index.Open(url, e, "")
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func (w *world) start(ix index.Index, feed bool) {
	w.t.Helper()
	w.startOn(bustest.Dial(w.t, w.server), ix, feed)
}

func (w *world) startOn(conn *bus.Conn, ix index.Index, feed bool) {
	w.t.Helper()
	log := slog.New(slog.DiscardHandler)
	uses := usage.Start(conn.JetStream())
	w.t.Cleanup(uses.Close)
	r, err := resolve.Open(w.testContext(), resolve.Deps{
		Catalog:  openCatalog(w.t, conn),
		Index:    ix,
		Usage:    uses,
		Feed:     feed,
		Backends: map[string]string{"index": "embedded:", "embed": "lexical:"},
		Log:      log,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.worker = r
	w.t.Cleanup(ix.Close)
	w.t.Cleanup(r.Close)
	if err := resolve.Serve(bustest.Service(w.t, conn, "resolve"), r); err != nil {
		w.t.Fatal(err)
	}
}

// put registers a record; tenant "" is global.
func (w *world) put(kind, tenant, id, record string) uint64 {
	w.t.Helper()
	revision, err := w.catalog.Put(w.t.Context(), catalog.Key{Kind: kind, Tenant: tenant, ID: id}, []byte(record))
	if err != nil {
		w.t.Fatal(err)
	}
	w.noteRevision(revision)
	return revision
}

// always permits each deletion.
func always(uint64) error { return nil }

func (w *world) removeSkill(id string) {
	w.t.Helper()
	revision, _, err := w.catalog.Delete(w.t.Context(), catalog.Key{Kind: schemas.KindSkill, ID: id}, always)
	if err != nil {
		w.t.Fatal(err)
	}
	w.noteRevision(revision)
}

func (w *world) noteRevision(revision uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision = max(w.revision, revision)
}

// ctx returns a context for requests that must include all writes so far.
func (w *world) ctx() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bus.WithTokens(w.t.Context(), schemas.ConsistencyToken{Revision: w.revision})
}

func (w *world) testContext() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	w.t.Cleanup(cancel)
	return ctx
}

func asTenant(id string) schemas.QueryOptions {
	if id == "" {
		return schemas.QueryOptions{}
	}
	return schemas.QueryOptions{TenantID: &id}
}
