package test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/bus/backup"
	"cairn/schemas"
)

// TestRestoreUnderARunningEdge replaces the catalog with a backup while an edge runs; the workers
// restart, as they do when the catalog is replaced. The edge serves the restored catalog at once: it
// ignores consistency tokens of the previous catalog, both its own and those of clients.
func TestRestoreUnderARunningEdge(t *testing.T) {
	t.Parallel()
	c := newClient(t, start(t, topologies[0], setup{data: t.TempDir(), tcp: true, idle: true}))
	conn, err := bus.Open(c.nats, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	work := func() (stop func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		var workers errgroup.Group
		stop = sync.OnceFunc(func() { cancel(); _ = workers.Wait() }) // they end with an error when the catalog is replaced
		t.Cleanup(stop)
		if err := awaitServices(ctx, conn, setup{}, &workers); err != nil {
			t.Fatal(err)
		}
		return stop
	}
	stop := work()
	c.put(t, [2]string{"skill", `{"skill_id":"$.saved"}`})
	var file bytes.Buffer
	if _, err := backup.Save(t.Context(), conn, conn, &file, nil); err != nil {
		t.Fatal(err)
	}
	later := c.do(t, "POST /register/skill", `{"record":{"skill_id":"$.later"}}`).header.Get(bus.HeaderRevision)

	for _, stream := range []string{"KV_cairn_catalog", "KV_cairn_quarantine", "KV_cairn_keys"} {
		if err := conn.JetStream().DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	checked, err := backup.Check(bytes.NewReader(file.Bytes()))
	if err == nil {
		err = checked.Restore(t.Context(), conn, conn, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	work()

	header := bus.HeaderMinRevision + ": " + later
	c.call(t, "POST /resolve/skill", `{"skill_id":"$.later"}`, header).expect(t, 404, "CE-031", "")
	a := c.call(t, "POST /resolve/skill", `{"skill_id":"$.saved"}`, header)
	a.expect(t, 200, "", `{"skill_id":"$.saved"}`)
	if got := a.header.Get(bus.HeaderIgnoredRevision); got != later {
		t.Errorf("%s is %q, want the token %q of the catalog before the restore", bus.HeaderIgnoredRevision, got, later)
	}
	again := c.do(t, "POST /register/skill", `{"record":{"skill_id":"$.again"}}`).header.Get(bus.HeaderRevision)
	is, err := schemas.ParseConsistencyToken(again)
	was, err2 := schemas.ParseConsistencyToken(later)
	if err != nil || err2 != nil || is.Catalog == was.Catalog {
		t.Errorf("token %q after the restore, %q before it, want those of two catalogs", again, later)
	}
	c.call(t, "POST /resolve/skill", `{"skill_id":"$.again"}`, bus.HeaderMinRevision+": "+again).expect(t, 200, "",
		`{"skill_id":"$.again"}`)
	c.awaitHealthText(t, `"service":"cairn","status":"ok"`)
}
