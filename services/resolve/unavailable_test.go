package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/index"
	"cairn/test/wait"
)

// without starts a worker with an unavailable shared index.
func (w *world) without() {
	w.t.Helper()
	w.start(openIndex(w.t, "http://127.0.0.1:1", openEmbedder(w.t, "lexical:")), false)
}

func TestIndexUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	w.without()
	if _, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{SkillID: "net.vlan"}); err != nil {
		t.Errorf("by id: %v", err)
	}
	h, err := w.health(w.ctx())
	if err != nil || h.Status != schemas.StatusDegraded || h.Index == nil ||
		!strings.Contains(h.Degraded[0], "index unavailable") {
		t.Errorf("got %+v, %v, want degraded by the index", h, err)
	}
	q := schemas.SkillQuery{Query: "audit", Search: schemas.SearchVector}
	if _, err := bus.ResolveSkill.Call(w.ctx(), w.conn, q); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("by vectors: got %v, want %v", err, schemas.ErrUnavailable)
	}
}

func TestLocalIndexSkills(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	w.without()
	w.put(skill, "", "net.new", `{"skill_id":"net.new","purpose":"Come meanwhile"}`)
	w.put(skill, "acme", "acme.gone", `{"skill_id":"acme.gone","purpose":"Unloved by now"}`)
	w.put(skill, "acme", "acme.gone", `{"skill_id":"acme.gone","purpose":"Unloved by now","status":"retired"}`)
	for _, row := range []struct{ name, tenant, query, scope, want string }{
		{"a global record", "", "audit the virtual networks", schemas.ScopeGlobal, "net.vlan"},
		{"by an example query", "", "I was charged twice, why", schemas.ScopeGlobal, "billing.invoice"},
		{"the tenant's records take precedence", "acme", "check an invoice", schemas.ScopeTenant, "acme.invoice"},
		{"a global record when the tenant has none", "acme", "trace routes between routers", schemas.ScopeGlobal,
			"net.route"},
		{"a record registered meanwhile", "", "come meanwhile", schemas.ScopeGlobal, "net.new"},
		{"a record that is no longer active", "acme", "unloved", "", ""},
		{"a record that does not exist", "", "xylophone zebra quasar", "", ""},
	} {
		options := asTenant(row.tenant)
		options.Explain = true
		a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{Query: row.query, QueryOptions: options})
		if row.want == "" {
			if !errors.Is(err, schemas.ErrSkillNotFound) {
				t.Errorf("%s: got %v, want %v", row.name, err, schemas.ErrSkillNotFound)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		want := schemas.Explanation{Kind: skill, ID: row.want, Scope: row.scope, Via: "search", TextRank: 1}
		if diff := cmp.Diff(want, a.Hits.Explain[0]); diff != "" || a.Hits.Degraded != schemas.IndexUnavailable {
			t.Errorf("%s: degraded %q, the best differs (-want +got):\n%s", row.name, a.Hits.Degraded, diff)
		}
	}
}

func TestLocalIndexAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	w.without()
	a, err := bus.ResolveAgent.Call(w.ctx(), w.conn, schemas.AgentQuery{Query: "who can audit switches"})
	if err != nil || a.AgentID != "network" || a.Degraded != schemas.IndexUnavailable || a.Score <= 0 || a.Score > 1 {
		t.Errorf("got %+v, %v, want the network agent and %q", a, err, schemas.IndexUnavailable)
	}
}

// hanging is an index whose searches block until their context ends.
type hanging struct{ index.Index }

func (hanging) Search(ctx context.Context, _ index.Query) (index.Result, error) {
	<-ctx.Done()
	return index.Result{}, ctx.Err()
}

func TestHangingIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	w.start(hanging{openIndex(t, "embedded:", openEmbedder(t, "lexical:"))}, false)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	a, err := bus.ResolveSkill.Call(ctx, w.conn, schemas.SkillQuery{Query: "audit virtual networks"})
	if err != nil || a.Hits.Degraded != schemas.IndexUnavailable {
		t.Errorf("got %+v, %v, want an answer that is %s", a.Hits, err, schemas.IndexUnavailable)
	}
}

// The first search waits only until the existing log has been applied, not until
// the log is idle.
func TestLocalIndexFirstSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 200 {
		id := fmt.Sprintf("net.skill%d", i)
		w.put(skill, "", id, fmt.Sprintf(`{"skill_id":%q,"purpose":%q}`, id, strings.Repeat("much to be read about it ", 20)))
	}
	w.put(skill, "", "net.last", `{"skill_id":"net.last","purpose":"Come last"}`)
	w.without()
	wait.Success(t, func() error { // on a busy machine, the log takes longer than a request waits
		a, err := bus.ResolveSkill.Call(t.Context(), w.conn, schemas.SkillQuery{Query: "come last"})
		if err == nil && !strings.Contains(string(a.Hits.Skills[0]), "net.last") {
			t.Fatalf("got %+v, want the last record", a.Hits)
		}
		return err
	})
}

// staleIndex returns an index with equal documents of outdated skills and agents.
func staleIndex(t testing.TB, keys ...string) index.Index {
	t.Helper()
	ix := openIndex(t, "embedded:", openEmbedder(t, "lexical:"))
	var changes []index.Change
	for i, k := range keys {
		parts := strings.Split(k, "/")
		changes = append(changes, index.Change{Revision: uint64(i + 1), Document: index.Document{
			Kind: parts[0], Tenant: parts[1], ID: parts[2], Title: "VLAN audit", Body: "Audit virtual networks",
		}})
	}
	if err := ix.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	return ix
}

func TestInactiveHits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var keys []string
	for i := range 5 {
		id := fmt.Sprintf("net.a%d", i) // hits with equal scores are ordered by id
		keys = append(keys, "skill//"+id, "skill//net.b"+fmt.Sprint(i), "skill//net.c"+fmt.Sprint(i),
			"skill/acme/net.a"+fmt.Sprint(i))
		w.put(skill, "", id, fmt.Sprintf(`{"skill_id":%q,"status":"retired"}`, id))
		w.put(skill, "", "net.c"+fmt.Sprint(i), fmt.Sprintf(`{"skill_id":"net.c%d"}`, i))
	}
	w.put(agent, "", "old", `{"agent_id":"old","status":"retired"}`)
	w.put(agent, "", "young", `{"agent_id":"young"}`)
	w.start(staleIndex(t, append(keys, "agent//old", "agent//young")...), false)
	for _, tenant := range []string{"", "acme"} {
		hits, err := w.search(tenant, "audit virtual networks", 3)
		var ids []string
		for _, h := range hits {
			ids = append(ids, h.SkillID)
		}
		if want := []string{"net.c0", "net.c1", "net.c2"}; err != nil || !slices.Equal(ids, want) {
			t.Errorf("tenant %q: got %v, %v, want %v", tenant, ids, err, want)
		}
	}
	a, err := bus.ResolveAgent.Call(w.ctx(), w.conn, schemas.AgentQuery{Query: "audit virtual networks"})
	if err != nil || a.AgentID != "young" {
		t.Errorf("got %+v, %v, want the current agent", a, err)
	}
}

func TestLocalIndexReadsOwnWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.without()
	for i := range 100 {
		id := fmt.Sprintf("net.skill%d", i)
		w.put(skill, "", id, fmt.Sprintf(`{"skill_id":%q,"purpose":"purpose%d unheard of"}`, id, i))
		if hits, err := w.search("", fmt.Sprintf("purpose%d", i), 1); err != nil || hits[0].SkillID != id {
			t.Errorf("%s: got %v, %v", id, hits, err)
		}
	}
}
