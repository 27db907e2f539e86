package resolve_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

func toolbox(w *world) {
	w.records(
		record{tool, "", `{"tool_id":"p.s.one","tool_class":"net","provider":"p","of":"global"}`},
		record{tool, "", `{"tool_id":"q.s.two","tool_class":"net","provider":"q","of":"global"}`},
		record{tool, "", `{"tool_id":"p.s.three","tool_class":"log","provider":"p","of":"global"}`},
		record{tool, "", `{"tool_id":"p.s.old","tool_class":"net","provider":"p","status":"retired","of":"global"}`},
		record{tool, "acme", `{"tool_id":"q.s.two","tool_class":"net","provider":"q","of":"acme"}`},
	)
}

func TestTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	toolbox(w)
	w.serve()
	rows := []struct {
		name, tenant   string
		ids            []string
		tools, missing []string
		err            error
	}{
		{"in the order of the request", "", []string{"q.s.two", "p.s.one"},
			[]string{"q.s.two of global", "p.s.one of global"}, nil, nil},
		{"missing ids are listed", "", []string{"x.y.z", "p.s.one", "a.b.c"}, []string{"p.s.one of global"},
			[]string{"x.y.z", "a.b.c"}, nil},
		{"a duplicate id is answered once", "", []string{"p.s.one", "x.y.z", "p.s.one", "x.y.z"},
			[]string{"p.s.one of global"},
			[]string{"x.y.z"}, nil},
		{"each id resolves to the tenant's tool, or else the global one", "acme", []string{"q.s.two", "p.s.one"},
			[]string{"q.s.two of acme", "p.s.one of global"}, nil, nil},
		{"an inactive tool is found by id", "", []string{"p.s.old"}, []string{"p.s.old of global"}, nil, nil},
		{"none found", "", []string{"x.y.z"}, nil, nil, schemas.ErrToolNotFound},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a, err := bus.ResolveTools.Call(w.ctx(), w.conn,
				schemas.ToolsQuery{ToolIDs: row.ids, QueryOptions: asTenant(row.tenant)})
			if !errors.Is(err, row.err) {
				t.Fatalf("got %v, want %v", err, row.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(row.tools, ids(t, tool, a.Tools)); diff != "" {
				t.Errorf("tools differ (-want +got):\n%s", diff)
			}
			if len(row.missing)+len(a.Missing) > 0 && !cmp.Equal(row.missing, a.Missing) {
				t.Errorf("missing differs (-want +got):\n%s", cmp.Diff(row.missing, a.Missing))
			}
		})
	}
}

func TestToolClass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	toolbox(w)
	w.serve()
	rows := []struct {
		name, tenant, class, provider string
		want                          []string
		err                           error
	}{
		{"all active tools of the class, by id", "", "net", "", []string{"p.s.one of global", "q.s.two of global"}, nil},
		{"only tools of the provider", "", "net", "q", []string{"q.s.two of global"}, nil},
		{"only the tenant's tools when it has some", "acme", "net", "", []string{"q.s.two of acme"}, nil},
		{"global tools when the tenant has none", "acme", "log", "", []string{"p.s.three of global"}, nil},
		{"an unknown class", "", "none", "", nil, schemas.ErrToolNotFound},
		{"a provider without such tools", "", "log", "q", nil, schemas.ErrToolNotFound},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			q := schemas.ToolClassQuery{ToolClass: row.class, Provider: row.provider, QueryOptions: asTenant(row.tenant)}
			a, err := bus.ResolveToolClass.Call(w.ctx(), w.conn, q)
			if !errors.Is(err, row.err) {
				t.Fatalf("got %v, want %v", err, row.err)
			}
			if diff := cmp.Diff(row.want, ids(t, tool, a.Tools)); err == nil && diff != "" {
				t.Errorf("tools differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknownToolsReadOnce counts the JetStream requests for 1,000 unknown ids.
func TestUnknownToolsReadOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(tool, "", "p.s.one", `{"tool_id":"p.s.one"}`)
	w.serve()
	observer := bustest.Dial(t, w.server).JetStream().Conn()
	var requests atomic.Int32
	for _, request := range []string{"STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET"} {
		if _, err := observer.Subscribe("$JS.API."+request+".KV_cairn_catalog",
			func(*nats.Msg) { requests.Add(1) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := observer.Flush(); err != nil {
		t.Fatal(err)
	}
	ids := []string{"p.s.one"}
	for i := range 999 {
		ids = append(ids, fmt.Sprintf("no.such.tool%d", i))
	}
	a, err := bus.ResolveTools.Call(t.Context(), w.conn, schemas.ToolsQuery{ToolIDs: ids, QueryOptions: asTenant("acme")})
	if err != nil || len(a.Tools) != 1 || len(a.Missing) != 999 {
		t.Errorf("got %d tools and %d missing, %v, want 1 and 999", len(a.Tools), len(a.Missing), err)
	}
	wait.Until(w.t, "the follower reads the log", func() bool { return requests.Load() > 0 })
	// A follower of an idle log reads a message every 500 ms.
	if got := requests.Load(); got > 20 {
		t.Errorf("%d requests, want about one", got)
	}
}
