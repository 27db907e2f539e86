package resolve_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/index"
)

// library registers skills and agents of two domains, global and of a tenant.
func library(w *world) {
	w.records(
		record{skill, "", `{"skill_id":"net.vlan","display_name":"VLAN audit","purpose":"Audit virtual networks of switches","extra":{"kept":true},"score":7}`},
		record{skill, "", `{"skill_id":"net.route","display_name":"Route tracing","purpose":"Trace routes between routers"}`},
		record{skill, "", `{"skill_id":"billing.invoice","display_name":"Invoice check","purpose":"Check invoices of customers","example_queries":["why was I charged twice"]}`},
		record{skill, "", `{"skill_id":"net.draft","display_name":"VLAN audit draft","purpose":"Audit virtual networks of switches","status":"draft"}`},
		record{skill, "acme", `{"skill_id":"acme.invoice","display_name":"Invoice check of Acme","purpose":"Check invoices of Acme"}`},
		record{agent, "", `{"agent_id":"network","display_name":"Network agent","capabilities":["audit switches","trace routes"],"skill_ids":["net.vlan","net.route"]}`},
		record{agent, "", `{"agent_id":"billing","display_name":"Billing agent","capabilities":["check invoices"]}`},
	)
}

// newLibrary returns a world with a library and a resolve worker.
func newLibrary(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	library(w)
	w.serve()
	return w
}

// searched is a decoded hit.
type searched struct {
	SkillID string          `json:"skill_id"`
	Score   float64         `json:"score"`
	Extra   map[string]bool `json:"extra"`
}

func (w *world) search(tenant, query string, topK ...int) ([]searched, error) {
	w.t.Helper()
	q := schemas.SkillQuery{Query: query, QueryOptions: asTenant(tenant)}
	if len(topK) > 0 {
		q.TopK = &topK[0]
	}
	a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, q)
	if err != nil {
		return nil, err
	}
	hits := make([]searched, len(a.Hits.Skills))
	for i, record := range a.Hits.Skills {
		if err := json.Unmarshal(record, &hits[i]); err != nil {
			w.t.Fatal(err)
		}
	}
	return hits, nil
}

// TestTenantShadowsGlobalHits searches for the text of a global record, whose id a tenant's
// record has too.
func TestTenantShadowsGlobalHits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"replaced", "inactive", "draft", "other"} {
		w.put(skill, "", "net."+name, fmt.Sprintf(`{"skill_id":"net.%s","purpose":"Audit virtual networks"}`, name))
	}
	w.put(skill, "acme", "net.replaced", `{"skill_id":"net.replaced","purpose":"Check invoices"}`)
	w.put(skill, "acme", "net.inactive", `{"skill_id":"net.inactive","purpose":"Check invoices","status":"inactive"}`)
	w.put(skill, "acme", "net.draft", `{"skill_id":"net.draft","purpose":"Check invoices","status":"draft"}`)
	w.serve()
	everything := []string{"net.draft", "net.inactive", "net.other", "net.replaced"}
	for tenant, want := range map[string][]string{"": everything, "other": everything,
		"acme": {"net.draft", "net.other"}} {
		q := schemas.SkillQuery{Query: "audit virtual networks", QueryOptions: asTenant(tenant)}
		a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, q)
		if err != nil {
			t.Fatal(err)
		}
		if got := idsOf(t, a.Hits.Skills...); !cmp.Equal(got, want) {
			t.Errorf("tenant %q: a search returns %v, want %v", tenant, got, want)
		}
		both, err := bus.SearchRecords.Call(w.ctx(), w.conn,
			schemas.RecordSearch{Query: q.Query, QueryOptions: q.QueryOptions, Kinds: []string{skill}})
		if err != nil {
			t.Fatal(err)
		}
		var records []jsontext.Value
		for _, h := range both.Hits {
			records = append(records, h.Record)
		}
		if got := idsOf(t, records...); !cmp.Equal(got, want) {
			t.Errorf("tenant %q: a search of all scopes returns %v, want %v", tenant, got, want)
		}
	}
}

// TestKindsAreRankedApart stores guardrails and templates before a worker starts, as an earlier version has. They are
// found, and the hits and scores of skills are those without them, also in the local index of words.
func TestKindsAreRankedApart(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*world){"embedded": (*world).serve, "local": (*world).without} {
		alone, w := newWorld(t), newWorld(t)
		library(alone)
		library(w)
		for i := range 20 {
			w.records(
				record{guard, "", fmt.Sprintf(`{"guardrail_id":"g%d","rule":"Audit virtual networks of switches"}`, i)},
				record{tmpl, "", fmt.Sprintf(`{"template_id":"t%d","body":"Audit virtual networks of switches"}`, i)})
		}
		start(alone)
		start(w)
		want, err := alone.search("", "audit virtual networks of switches")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.search("", "audit virtual networks of switches"); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: skills: got %v, %v, want %v", name, got, err, want)
		}
		for _, kind := range []string{guard, tmpl} {
			page, err := bus.SearchRecords.Call(w.ctx(), w.conn, schemas.RecordSearch{
				Query: "audit virtual networks of switches", Kinds: []string{kind}, Limit: new(100)})
			if err != nil || len(page.Hits) != 20 || page.Hits[0].Kind != kind {
				t.Errorf("%s: got %d %ss, %v, want 20", name, len(page.Hits), kind, err)
			}
		}
	}
}

// TestRecordSearchOfEachKind searches each kind as a tenant; records of another tenant are not found.
func TestRecordSearchOfEachKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tenant := range []string{"acme", "globex"} {
		for _, kind := range schemas.Kinds() {
			id := tenant + ".a.b"
			w.put(kind, tenant, id, fmt.Sprintf(`{"%s_id":%q,"description":"Polish marble floors"}`, kind, id))
		}
	}
	w.serve()
	search := func(tenant, kind string) (schemas.RecordHits, error) {
		return bus.SearchRecords.Call(w.ctx(), w.conn, schemas.RecordSearch{
			Query: "polish marble floors", Kinds: []string{kind}, QueryOptions: asTenant(tenant)})
	}
	for _, kind := range schemas.SearchableKinds() {
		page, err := search("acme", kind)
		if err != nil || len(page.Hits) != 1 || !strings.Contains(string(page.Hits[0].Record), `"acme.a.b"`) {
			t.Errorf("%s: got %+v, %v, want the record of the tenant", kind, page, err)
		}
		if page, err := search("", kind); err != nil || len(page.Hits) > 0 {
			t.Errorf("%s: the global scope has %+v, %v", kind, page, err)
		}
	}
	_, err := search("acme", builder)
	if !errors.Is(err, schemas.ErrMalformed) ||
		!strings.Contains(fmt.Sprint(err), "kinds[0]: expected one of skill, agent, tool, guardrail, template") {
		t.Errorf("got %v, want an error with the field and the accepted kinds", err)
	}
}

// idsOf returns the ids of the skills, sorted.
func idsOf(t *testing.T, records ...jsontext.Value) []string {
	t.Helper()
	ids := make([]string, len(records))
	for i, record := range records {
		var s searched
		if err := json.Unmarshal(record, &s); err != nil {
			t.Fatal(err)
		}
		ids[i] = s.SkillID
	}
	slices.Sort(ids)
	return ids
}

func TestSkillSearch(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	rows := []struct {
		name, tenant, query string
		want                string // the best; empty: not found
	}{
		{"by words of the purpose", "", "audit the virtual networks", "net.vlan"},
		{"by an example query", "", "I was charged twice, why", "billing.invoice"},
		{"the tenant's records take precedence", "acme", "check an invoice", "acme.invoice"},
		{"global records when no record of the tenant matches", "acme", "trace routes between routers", "net.route"},
		{"only global records without a tenant", "", "check invoices of Acme", "billing.invoice"},
		{"an off-topic query finds nothing", "", "xylophone zebra quasar", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			hits, err := w.search(row.tenant, row.query)
			if row.want == "" {
				if !errors.Is(err, schemas.ErrSkillNotFound) {
					t.Errorf("got %v, %v, want %v", hits, err, schemas.ErrSkillNotFound)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if hits[0].SkillID != row.want {
				t.Errorf("got %v, want %s first", hits, row.want)
			}
			for i, h := range hits {
				if h.SkillID == "net.draft" {
					t.Errorf("found an inactive skill: %v", hits)
				}
				if h.Score < 0 || h.Score > 1 || i > 0 && h.Score > hits[i-1].Score {
					t.Errorf("scores are not descending in [0,1]: %v", hits)
				}
			}
		})
	}
}

func TestSkillHit(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	hits, err := w.search("", "audit virtual networks", 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(hits) != 1 {
		t.Fatalf("got %d hits, want top_k of 1", len(hits))
	}
	// The record has a member score, 7, which is not the score of the search.
	if h := hits[0]; h.Score > 1 || !h.Extra["kept"] {
		t.Errorf("got %+v, want a score in [0,1] and the record's other fields", h)
	}
}

func TestExplainSearch(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	options := asTenant("acme")
	options.Explain = true
	a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{Query: "check an invoice", QueryOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	want := []schemas.Explanation{{Kind: skill, ID: "acme.invoice", Scope: schemas.ScopeTenant, Via: "search", TextRank: 1,
		VectorRank: 1}}
	if diff := cmp.Diff(want, a.Hits.Explain); diff != "" {
		t.Errorf("explanations differ (-want +got):\n%s", diff)
	}
}

// An explanation contains the ranks of the selected methods only.
func TestSearchMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	embedder := newFaulty(t)
	w.serveWith(embedder)
	if _, err := w.search("", "audit virtual networks", 1); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		search       string
		away         bool
		text, vector int // ranks
		degraded     string
		err          error
	}{
		{"", false, 1, 1, "", nil},
		{schemas.SearchHybrid, false, 1, 1, "", nil},
		{schemas.SearchText, false, 1, 0, "", nil},
		{schemas.SearchVector, false, 0, 1, "", nil},
		{schemas.SearchHybrid, true, 1, 0, index.TextOnly, nil},
		{schemas.SearchText, true, 1, 0, "", nil},
		{schemas.SearchVector, true, 0, 0, "", schemas.ErrUnavailable},
		{"words", true, 0, 0, "", schemas.ErrMalformed},
	} {
		embedder.away.Store(row.away)
		for _, search := range []func(string) (schemas.Explained, string, error){w.explainedSkill, w.explainedAgent} {
			got, degraded, err := search(row.search)
			if !errors.Is(err, row.err) || degraded != row.degraded {
				t.Errorf("%q, away %t: degraded %q, %v, want %q, %v", row.search, row.away, degraded, err, row.degraded, row.err)
			}
			if row.err == nil && (len(got.Explain) == 0 || got.Explain[0].TextRank != row.text ||
				got.Explain[0].VectorRank != row.vector) {
				t.Errorf("%q, away %t: explained by %+v, want ranks %d and %d", row.search, row.away, got.Explain, row.text,
					row.vector)
			}
		}
	}
	// The search method is ignored when the request has a skill_id.
	byID := schemas.SkillQuery{SkillID: "net.vlan", Search: schemas.SearchVector}
	if _, err := bus.ResolveSkill.Call(w.ctx(), w.conn, byID); err != nil {
		t.Errorf("by id: %v", err)
	}
}

func (w *world) explainedSkill(search string) (schemas.Explained, string, error) {
	q := schemas.SkillQuery{Query: "audit virtual networks", Search: search,
		QueryOptions: schemas.QueryOptions{Explain: true}}
	a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, q)
	if err != nil {
		return schemas.Explained{}, "", err
	}
	return a.Hits.Explained, a.Hits.Degraded, nil
}

func (w *world) explainedAgent(search string) (schemas.Explained, string, error) {
	q := schemas.AgentQuery{Query: "who can audit switches", Search: search,
		QueryOptions: schemas.QueryOptions{Explain: true}}
	a, err := bus.ResolveAgent.Call(w.ctx(), w.conn, q)
	return a.Explained, a.Degraded, err
}

func TestAgent(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	got, err := bus.ResolveAgent.Call(w.ctx(), w.conn, schemas.AgentQuery{Query: "who can audit switches"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Score <= 0 || got.Score > 1 {
		t.Errorf("got score %v, want one in (0,1]", got.Score)
	}
	got.Score, got.Record = 0, nil
	want := schemas.AgentAnswer{
		AgentID:       "network",
		Capabilities:  []string{"audit switches", "trace routes"},
		OwnedSkillIDs: []string{"net.vlan", "net.route"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agent differs (-want +got):\n%s", diff)
	}
	_, err = bus.ResolveAgent.Call(w.ctx(), w.conn, schemas.AgentQuery{Query: "xylophone zebra quasar"})
	if !errors.Is(err, schemas.ErrAgentNotFound) {
		t.Errorf("off-topic: got %v, want %v", err, schemas.ErrAgentNotFound)
	}
}

func TestAgentBySkill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	w.records(
		record{agent, "", `{"agent_id":"hidden","skill_ids":["net.route"],"status":"retired"}`},
		record{agent, "acme", `{"agent_id":"desk","purpose":"Service desk of Acme","skill_ids":["acme.invoice"]}`},
	)
	w.serve()
	for _, row := range []struct{ name, tenant, query, want, via string }{
		{"by its own text", "", "network agent", "network", "search"},
		{"by the best of its skills", "", "audit virtual networks", "network", "skill_ids"},
		{"the tenant's own by a skill", "acme", "check invoices of Acme", "desk", "skill_ids"},
		{"the global one where no skill of the tenant fits", "acme", "audit virtual networks", "network", "skill_ids"},
	} {
		q := schemas.AgentQuery{Query: row.query, QueryOptions: asTenant(row.tenant)}
		q.Explain = true
		got, err := bus.ResolveAgent.Call(w.ctx(), w.conn, q)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if got.AgentID != row.want || len(got.Explain) != 1 || got.Explain[0].Via != row.via {
			t.Errorf("%s: got %s by %+v, want %s by %s", row.name, got.AgentID, got.Explain, row.want, row.via)
		}
	}
}

func TestRemovedSkill(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	w.removeSkill("net.vlan")
	if hits, err := w.search("", "audit virtual networks"); !errors.Is(err, schemas.ErrSkillNotFound) {
		t.Errorf("search: got %v, %v, want %v", hits, err, schemas.ErrSkillNotFound)
	}
	if _, err := w.parts("", "net.vlan"); !errors.Is(err, schemas.ErrSkillNotFound) {
		t.Errorf("by id: got %v, want %v", err, schemas.ErrSkillNotFound)
	}
}

// Both workers of the queue group answer requests; neither has confirmed the
// revision before.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.serve()
	for i := range 100 {
		id := fmt.Sprintf("net.skill%d", i)
		w.put(skill, "", id, fmt.Sprintf(`{"skill_id":%q,"purpose":"purpose%d unheard of"}`, id, i))
		if _, err := w.parts("", id); err != nil {
			t.Errorf("%s by id: %v", id, err)
		}
		hits, err := w.search("", fmt.Sprintf("purpose%d", i), 1)
		if err != nil || hits[0].SkillID != id {
			t.Errorf("%s by search: got %v, %v", id, hits, err)
		}
	}
}

func TestSharedIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ix := openIndex(t, "embedded:", openEmbedder(t, "lexical:"))
	w.start(ix, false)
	library(w)
	if _, err := w.search("", "audit virtual networks"); !errors.Is(err, schemas.ErrSkillNotFound) {
		t.Errorf("before the log is applied: got %v, want %v", err, schemas.ErrSkillNotFound)
	}
	if _, err := w.health(w.ctx()); err != nil {
		t.Errorf("health: %v", err)
	}
	document := index.Document{Kind: skill, ID: "net.vlan", Title: "VLAN audit",
		Body: "Audit virtual networks of switches"}
	gone := index.Document{Kind: skill, ID: "net.gone", Title: "VLAN audit", Body: "Audit virtual networks of switches"}
	if err := ix.Apply(t.Context(),
		[]index.Change{{Document: document, Revision: 1}, {Document: gone, Revision: 2}}); err != nil {
		t.Fatal(err)
	}
	hits, err := w.search("", "audit virtual networks")
	if err != nil || len(hits) != 1 || hits[0].SkillID != "net.vlan" {
		t.Errorf("got %v, %v, want net.vlan alone: the other has no record", hits, err)
	}
}

// TestTenantHitsBesideGlobalOnes searches with the words of a global record, of which one of the tenant has few.
func TestTenantHitsBesideGlobalOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.records(
		record{skill, "", `{"skill_id":"net.vlan","purpose":"Audit virtual networks of switches"}`},
		record{skill, "", `{"skill_id":"acme.shared","purpose":"Audit virtual networks of switches"}`},
		record{skill, "acme", `{"skill_id":"acme.paint","purpose":"Paint virtual fences in the colors of the customer"}`},
		record{skill, "acme", `{"skill_id":"acme.shared","purpose":"Zoo"}`},
		record{skill, "globex", `{"skill_id":"globex.vlan","purpose":"Audit virtual networks of switches in Oslo"}`},
		record{agent, "", `{"agent_id":"network","capabilities":["audit virtual networks of switches"]}`},
		record{agent, "acme", `{"agent_id":"painter","skill_ids":["acme.paint"]}`},
	)
	w.serve()
	for _, row := range []struct {
		name, tenant, query, scope string
		want                       []string
		agent                      string
	}{
		{"a weak hit of the tenant does not hide the global ones", "acme", "audit virtual networks of switches", "",
			[]string{"net.vlan"}, "network"},
		{"a relevant hit of the tenant hides them", "acme", "paint virtual fences", "", []string{"acme.paint"}, "painter"},
		{"both scopes are ranked together", "acme", "audit virtual networks of switches", "both",
			[]string{"net.vlan", "acme.paint"}, "network"},
		{"both scopes, the tenant's first", "acme", "paint virtual fences", "both",
			[]string{"acme.paint", "net.vlan"}, "painter"},
		{"another tenant's hits remain invisible", "initech", "audit virtual networks of switches", "both",
			[]string{"net.vlan", "acme.shared"}, "network"},
		{"without a tenant both scopes are the global one", "", "audit virtual networks of switches", "both",
			[]string{"net.vlan", "acme.shared"}, "network"},
	} {
		q := schemas.SkillQuery{Query: row.query, Scope: row.scope, QueryOptions: asTenant(row.tenant)}
		a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, q)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(row.want)
		if got := idsOf(t, a.Hits.Skills...); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
		best, err := bus.ResolveAgent.Call(w.ctx(), w.conn,
			schemas.AgentQuery{Query: row.query, Scope: row.scope, QueryOptions: asTenant(row.tenant)})
		if err != nil {
			t.Fatal(err)
		}
		if best.AgentID != row.agent {
			t.Errorf("%s: got agent %s, want %s", row.name, best.AgentID, row.agent)
		}
	}
	q := schemas.SkillQuery{Query: "networks", Scope: "everywhere"}
	if _, err := bus.ResolveSkill.Call(w.ctx(), w.conn, q); !errors.Is(err, schemas.ErrMalformed) {
		t.Errorf("an unknown scope: got %v, want %v", err, schemas.ErrMalformed)
	}
	q = schemas.SkillQuery{Query: "paint virtual networks", Scope: "both", TopK: new(1), QueryOptions: asTenant("acme")}
	if a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, q); err != nil || len(a.Hits.Skills) != 1 {
		t.Errorf("both scopes with a top_k of 1: got %v, %v, want one skill", a, err)
	}
}
