package resolve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

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

// restorable is a server whose data can be replaced by an older copy.
type restorable struct {
	t      *testing.T
	at     string
	dir    string
	server *natsserver.Server
}

func (a *restorable) start(dir string) {
	a.t.Helper()
	a.dir = dir
	var err error
	if a.server, err = natsserver.Start(dir, a.at); err != nil {
		a.t.Fatal(err)
	}
}

// copied stops the server and starts it again; it returns a copy of its data.
func (a *restorable) copied() string {
	a.t.Helper()
	a.server.Stop()
	older := a.t.TempDir()
	if err := os.CopyFS(older, os.DirFS(a.dir)); err != nil {
		a.t.Fatal(err)
	}
	a.start(a.dir)
	return older
}

// TestCatalogRollback replaces the log by an older copy: the worker detects it, also when
// the log has grown beyond the applied revision, and answers from the current log.
func TestCatalogRollback(t *testing.T) {
	t.Parallel()
	for _, later := range []int{0, 1, 20} {
		t.Run(fmt.Sprint(later, " writes after it"), func(t *testing.T) {
			t.Parallel()
			goesBack(t, later)
		})
	}
}

func goesBack(t *testing.T, later int) {
	a := &restorable{t: t, at: bustest.FreeAddress(t)}
	a.start(t.TempDir())
	t.Cleanup(func() { a.server.Stop() })
	conn, err := bus.Open("nats://"+a.at, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	connected := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
		defer cancel()
		if err := conn.WaitConnected(ctx); err != nil {
			t.Fatal(err)
		}
	}
	connected()
	c, err := catalog.Setup(t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, n int) {
		t.Helper()
		for i := range n {
			key := catalog.Key{Kind: schemas.KindTool, ID: fmt.Sprintf("%s.t%02d", name, i)}
			record := fmt.Sprintf(`{"tool_id":%q,"description":"finds %s"}`, key.ID, name)
			if _, err := c.Put(t.Context(), key, []byte(record)); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("kept", 10)
	var worker *resolve.Worker
	var lines bytes.Buffer
	var opened sync.Mutex
	health := func() (schemas.Health, error) {
		return bus.Health("resolve").Call(t.Context(), conn, schemas.Nothing{})
	}
	degraded := ""
	log := slog.New(slog.NewTextHandler(&lines, nil)) // written by Rebuild only
	uses := usage.Start(conn.JetStream())
	t.Cleanup(uses.Close)
	worker, err = resolve.Start(t.Context(), log, func(ctx context.Context) (*resolve.Resolver, error) {
		if worker != nil {
			opened.Lock()
			h, _ := health()
			degraded = strings.Join(h.Degraded, " ")
			opened.Unlock()
		}
		e, err := embed.Open(ctx, "lexical:")
		if err != nil {
			return nil, err
		}
		ix, err := index.Open("embedded:", e, "")
		if err != nil {
			return nil, err
		}
		return resolve.Open(ctx, resolve.Deps{Catalog: c, Index: ix, Usage: uses, Feed: true, Log: slog.New(slog.DiscardHandler)})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Close)
	if err := worker.Serve(bustest.Service(t, conn, "resolve")); err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	begin := func() {
		go func() {
			watched <- c.Monitor(ctx, 10*time.Millisecond, func(err error) {
				if !errors.Is(err, catalog.ErrRolledBack) {
					t.Error(err)
				}
				worker.Rebuild(ctx, err)
			})
		}()
	}
	tools := func() string {
		var ids []string
		list, err := bus.ListTools.Call(t.Context(), conn, schemas.ListQuery{})
		for _, tool := range list.Tools {
			ids = append(ids, string(tool))
		}
		return fmt.Sprint(len(ids), strings.Count(strings.Join(ids, ""), `"lost.`), strings.Count(strings.Join(ids, ""), `"new`), err)
	}
	await := func(want string) {
		t.Helper()
		wait.Until(t, "the view is rebuilt", func() bool {
			got := tools()
			if got != want {
				t.Logf("tools, lost ones, new ones: %s, want %s", got, want)
			}
			return got == want
		})
	}

	older := a.copied()
	connected()
	put("lost", 5)
	await("15 5 0 <nil>")
	a.server.Stop()
	a.start(older)
	connected()
	put("new", later)
	begin() // after the writes, so that they overtake the check
	await(fmt.Sprintf("%d 0 %d <nil>", 10+later, later))
	put("newer", 1)
	await(fmt.Sprintf("%d 0 %d <nil>", 11+later, later+1))
	stop()
	if err := <-watched; err != nil {
		t.Error(err)
	}
	opened.Lock()
	defer opened.Unlock()
	if n := strings.Count(lines.String(), "level=ERROR"); n != 1 || !strings.Contains(degraded, "was rolled back") {
		t.Errorf("%d errors logged, health %q; want one, and the reason:\n%s", n, degraded, lines.String())
	}
	wait.Until(t, "the view is rebuilt", func() bool { // results are shared for a moment
		h, err := health()
		return err == nil && h.Status == schemas.StatusOK
	})
}
