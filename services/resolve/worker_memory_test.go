package resolve_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sync/errgroup"

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

// serverAddress is the environment variable with the address of TestServerProcess.
const serverAddress = "CAIRN_TEST_SERVER"

// TestServerProcess is the NATS server of TestWorkerMemoryAfterDeletion, until its standard input
// ends.
func TestServerProcess(t *testing.T) {
	at := os.Getenv(serverAddress)
	if at == "" {
		t.Skip("needs " + serverAddress + ", which TestWorkerMemoryAfterDeletion sets")
	}
	server, err := natsserver.Start(t.TempDir(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
}

// TestWorkerMemoryAfterDeletion registers 1,200 records of 600 tenants and deletes them: the heap of
// a process with a resolve worker returns to that of an empty one.
func TestWorkerMemoryAfterDeletion(t *testing.T) { // not parallel: it measures the heap
	at := bustest.FreeAddress(t)
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServerProcess$") // #nosec G204 -- this test
	process.Env = append(os.Environ(), serverAddress+"="+at)
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = process.Wait() }) // the test is over
	conn, err := bus.Open("nats://"+at, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	if err := conn.WaitConnected(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Setup(ctx, conn.JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	uses := usage.Start(conn.JetStream())
	t.Cleanup(uses.Close)
	log := slog.New(slog.DiscardHandler)
	worker, err := resolve.Start(t.Context(), log, func(ctx context.Context) (*resolve.Resolver, error) {
		e, err := embed.Open(ctx, "lexical:")
		if err != nil {
			return nil, err
		}
		ix, err := index.Open("embedded:", e, "")
		if err != nil {
			return nil, err
		}
		return resolve.Open(ctx, resolve.Deps{Catalog: c, Index: ix, Usage: uses, Feed: true, Log: log})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Close)
	if err := worker.Serve(bustest.Service(t, conn, "resolve")); err != nil {
		t.Fatal(err)
	}
	// change registers or deletes the records of the tenants, and returns when the worker answers with
	// the last change.
	change := func(tenants int, write func(context.Context, catalog.Key) (uint64, error)) {
		t.Helper()
		writers, ctx := errgroup.WithContext(t.Context())
		writers.SetLimit(64)
		for tenant := range tenants {
			for _, kind := range []string{schemas.KindSkill, schemas.KindTool} {
				writers.Go(func() error {
					_, err := write(ctx, catalog.Key{Kind: kind, Tenant: fmt.Sprint("tenant", tenant), ID: "a.b.c"})
					return err
				})
			}
		}
		if err := writers.Wait(); err != nil {
			t.Fatal(err)
		}
		last, err := c.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		token := schemas.ConsistencyToken{Revision: last}
		if _, err := bus.ListSkills.Call(bus.WithTokens(t.Context(), token), conn, schemas.ListQuery{}); err != nil {
			t.Fatal(err)
		}
	}
	register := func(ctx context.Context, key catalog.Key) (uint64, error) {
		return c.Put(ctx, key, fmt.Appendf(nil, `{"purpose":"finds things of %s","tool_ids":["a.b.c"]}`, key.Tenant))
	}
	remove := func(ctx context.Context, key catalog.Key) (uint64, error) { return c.Delete(ctx, key, always) }
	change(100, register) // fills the buffers of connections and the last deletions of the index, which are bounded
	change(100, remove)
	empty := resolve.Heap()
	change(600, register)
	full := resolve.Heap()
	change(600, remove)
	after := resolve.Heap()
	t.Logf("heap: %d KiB empty, %d KiB with 1,200 records, %d KiB without them", empty>>10, full>>10, after>>10)
	if after > empty+empty/10 {
		t.Errorf("the heap has %d KiB after the deletion, want at most 10 %% above %d", after>>10, empty>>10)
	}
}
