package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/schemas"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
)

// registered returns a reader of records given as kind, tenant, id and JSON.
func registered(t testing.TB, records ...[4]string) *graph.Reader {
	t.Helper()
	g, nodes := graph.New(), map[graph.Node]bool{}
	for _, r := range records {
		n := graph.Node{Kind: r[0], Tenant: r[1], ID: r[2]}
		g.Apply(n, graph.Edges(n.Kind, linking(t, r[3])))
		nodes[n] = true
	}
	return &graph.Reader{Graph: g, Has: func(n graph.Node) bool { return nodes[n] }}
}

// short formats results as tenant/id@via.
func short(reached []graph.LinkedRecord) []string {
	var all []string
	for _, r := range reached {
		all = append(all, r.Tenant+"/"+r.ID+"@"+r.Via)
	}
	return all
}

func TestAgents(t *testing.T) {
	t.Parallel()
	const ag, sk = schemas.KindAgent, schemas.KindSkill
	r := registered(t, [][4]string{
		{sk, "", "net.x", `{}`}, {sk, "", "net.y", `{}`},
		{ag, "", "b", `{"skill_ids":["net.x","net.y"]}`}, {ag, "", "a", `{"skill_ids":["net.x"]}`},
		{ag, "acme", "c", `{"skill_ids":["net.x"]}`}, {ag, "other", "d", `{"skill_ids":["net.y"]}`},
	}...)
	for _, row := range []struct {
		name  string
		scope scope.Scope
		skill string
		want  []string
	}{
		{"the global ones that own the skill", scope.Global, "net.x", []string{"/a@skill_ids", "/b@skill_ids"}},
		{"the tenant's instead of the global ones", "acme", "net.x", []string{"acme/c@skill_ids"}},
		{"the global ones where the tenant has none", "acme", "net.y", []string{"/b@skill_ids"}},
		{"none", "acme", "net.z", nil},
	} {
		got := short(r.Agents(t.Context(), row.scope, graph.Node{Kind: sk, ID: row.skill}))
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestContextBuilders(t *testing.T) {
	t.Parallel()
	const cb, sk = schemas.KindContextBuilder, schemas.KindSkill
	for _, row := range []struct {
		name    string
		records [][4]string
		tenant  string
		skill   graph.Node
		want    []string
	}{
		{"those that the skill links to, in its order",
			[][4]string{{sk, "", "net.x", `{"context_builder_ids":["b","a"]}`}, {cb, "", "a", `{}`}, {cb, "", "b", `{}`}},
			"", skill("", "net.x"), []string{"/b@context_builder_ids", "/a@context_builder_ids"}},
		{"a link to a missing record is skipped",
			[][4]string{{sk, "", "net.x", `{"context_builder_ids":["gone","a"]}`}, {cb, "", "a", `{}`}},
			"", skill("", "net.x"), []string{"/a@context_builder_ids"}},
		{"the tenant's record before the global one",
			[][4]string{{sk, "", "net.x", `{"context_builder_ids":["a","b"]}`}, {cb, "", "a", `{}`}, {cb, "acme", "a", `{}`},
				{cb, "", "b", `{}`}},
			"acme", skill("", "net.x"), []string{"acme/a@context_builder_ids", "/b@context_builder_ids"}},
		{"another tenant's record is not visible",
			[][4]string{{sk, "", "net.x", `{"context_builder_ids":["a"]}`}, {cb, "other", "a", `{}`}},
			"acme", skill("", "net.x"), nil},
		{"those that link to the skill",
			[][4]string{{sk, "", "net.x", `{}`}, {cb, "", "a", `{"skill_ids":["net.x"]}`},
				{cb, "", "b", `{"domain":"net","skill_ids":["net.y"]}`}},
			"", skill("", "net.x"), []string{"/a@skill_ids"}},
		{"one without links serves its domain, even if it has tools",
			[][4]string{{sk, "", "net.x", `{}`}, {cb, "", "a", `{"domain":"net","tool_ids":["a.b.c"]}`},
				{cb, "", "b", `{"domain":"db"}`}},
			"", skill("", "net.x"), []string{"/a@builds_domain"}},
		{"one that a skill links to does not serve the rest of its domain",
			[][4]string{{sk, "", "net.x", `{}`}, {sk, "", "net.y", `{"context_builder_ids":["a"]}`},
				{cb, "", "a", `{"domain":"net"}`}},
			"", skill("", "net.x"), nil},
		{"one that only another tenant's skill links to still serves its domain",
			[][4]string{{sk, "", "net.x", `{}`}, {sk, "other", "net.y", `{"context_builder_ids":["a"]}`},
				{cb, "", "a", `{"domain":"net"}`}},
			"acme", skill("", "net.x"), []string{"/a@builds_domain"}},
		{"one that only a shadowed skill links to still serves its domain",
			[][4]string{{sk, "", "net.x", `{}`}, {sk, "", "net.y", `{"context_builder_ids":["a"]}`}, {sk, "acme", "net.y", `{}`},
				{cb, "", "a", `{"domain":"net"}`}},
			"acme", skill("", "net.x"), []string{"/a@builds_domain"}},
		{"the global ones of a domain only where the tenant has none",
			[][4]string{{sk, "", "net.x", `{}`}, {cb, "", "a", `{"domain":"net"}`}, {cb, "acme", "b", `{"domain":"net"}`}},
			"acme", skill("", "net.x"), []string{"acme/b@builds_domain"}},
		{"a global one hidden by the tenant's of the same id",
			[][4]string{{sk, "", "net.x", `{}`}, {cb, "", "a", `{"domain":"net"}`}, {cb, "acme", "a", `{"domain":"db"}`}},
			"acme", skill("", "net.x"), nil},
		{"linked in both directions, returned once",
			[][4]string{{sk, "", "net.x", `{"context_builder_ids":["a"]}`}, {cb, "", "a", `{"skill_ids":["net.x"]}`}},
			"", skill("", "net.x"), []string{"/a@context_builder_ids"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := short(registered(t, row.records...).ContextBuilders(t.Context(), scope.Scope(row.tenant), row.skill, "net"))
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGuardrails(t *testing.T) {
	t.Parallel()
	const gr = schemas.KindGuardrail
	r := registered(t,
		[4]string{schemas.KindSkill, "", "net.x", `{"guardrail_ids":["linked","gone"]}`},
		[4]string{schemas.KindSkill, "", "net.y", `{}`},
		[4]string{schemas.KindSkill, "", "db.z", `{}`},
		[4]string{gr, "", "linked", `{"domain":"other"}`},
		[4]string{gr, "acme", "linked", `{"domain":"other"}`},
		[4]string{gr, "", "names", `{"skill_ids":["net.x"]}`},
		[4]string{gr, "acme", "names.too", `{"skill_ids":["net.x"]}`},
		[4]string{gr, "", "net", `{"domain":"net"}`},
		[4]string{gr, "acme", "net", `{"domain":"net"}`},
		[4]string{gr, "", "all", `{}`},
		[4]string{gr, "acme", "all", `{"text":"added to the global one"}`},
		[4]string{gr, "other", "theirs", `{}`},
	)
	for _, row := range []struct {
		name, tenant, skill, domain string
		want                        []string
	}{
		{"global and the tenant's, by every rule", "acme", "net.x", "net", []string{
			"/linked@guardrail_ids", "acme/linked@guardrail_ids", "/names@skill_ids", "acme/names.too@skill_ids",
			"/net@guards_domain", "acme/net@guards_domain", "/all@guards_all", "acme/all@guards_all"}},
		{"without a tenant the global ones", "", "net.x", "net", []string{
			"/linked@guardrail_ids", "/names@skill_ids", "/net@guards_domain", "/all@guards_all"}},
		{"another skill of the domain", "", "net.y", "net", []string{"/net@guards_domain", "/all@guards_all"}},
		{"another domain", "acme", "db.z", "db", []string{"/all@guards_all", "acme/all@guards_all"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := short(r.Guardrails(t.Context(), scope.Scope(row.tenant), skill("", row.skill), row.domain))
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	const te, sk = schemas.KindTemplate, schemas.KindSkill
	for _, row := range []struct {
		name    string
		records [][4]string
		want    string
	}{
		{"the one that the skill links to",
			[][4]string{{sk, "", "net.x", `{"template_id":"b"}`}, {te, "", "b", `{}`}, {te, "", "a", `{"skill_ids":["net.x"]}`}},
			"/b@template_id"},
		{"the tenant's template with the linked id",
			[][4]string{{sk, "", "net.x", `{"template_id":"b"}`}, {te, "", "b", `{}`}, {te, "acme", "b", `{}`}},
			"acme/b@template_id"},
		{"a referrer, if the linked template does not exist",
			[][4]string{{sk, "", "net.x", `{"template_id":"gone"}`}, {te, "", "b", `{"skill_ids":["net.x"]}`},
				{te, "", "a", `{"skill_ids":["net.x"]}`}}, "/a@skill_ids"},
		{"the tenant's referrer takes precedence",
			[][4]string{{sk, "", "net.x", `{}`}, {te, "", "a", `{"skill_ids":["net.x"]}`},
				{te, "acme", "b", `{"skill_ids":["net.x"]}`}}, "acme/b@skill_ids"},
		{"none", [][4]string{{sk, "", "net.x", `{}`}, {te, "", "a", `{}`}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, ok := registered(t, row.records...).Template(t.Context(), "acme", skill("", "net.x"))
			if ok != (row.want != "") || ok && short([]graph.LinkedRecord{got})[0] != row.want {
				t.Errorf("Template = %v, %v, want %q", got, ok, row.want)
			}
		})
	}
}

// TestLinksMayDangle registers the target after its referrer.
func TestLinksMayDangle(t *testing.T) {
	t.Parallel()
	nodes := map[graph.Node]bool{}
	r := graph.Reader{Graph: graph.New(), Has: func(n graph.Node) bool { return nodes[n] }}
	from := skill("acme", "net.x")
	r.Graph.Apply(from, names("b"))
	if got := r.Linked("acme", from, graph.ContextBuilders); got != nil {
		t.Errorf("reached %v before it was registered", got)
	}
	nodes[builder("", "b")] = true
	if diff := cmp.Diff([]string{"/b@context_builder_ids"},
		short(r.Linked("acme", from, graph.ContextBuilders))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEndedContext resolves guardrails and context builders after the context has ended.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	r := registered(t, [4]string{schemas.KindGuardrail, "", "g", `{}`},
		[4]string{schemas.KindContextBuilder, "", "b", `{"domain":"d"}`})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		ctx  context.Context
		want int
	}{{ended, 0}, {t.Context(), 2}} { // the incomplete result is not cached
		got := append(r.Guardrails(row.ctx, "", skill("", "d.x"), "d"),
			r.ContextBuilders(row.ctx, "", skill("", "d.x"), "d")...)
		if len(got) != row.want {
			t.Errorf("got %v, want %d records", got, row.want)
		}
	}
}

// TestTooManyLinks resolves skills with more links than a reader follows.
func TestTooManyLinks(t *testing.T) {
	t.Parallel()
	const allowed = 20_000
	var records [][4]string
	for i := range allowed {
		records = append(records, [4]string{schemas.KindGuardrail, "acme", fmt.Sprintf("g%d", i), `{}`})
	}
	r := registered(t, records...)
	if got := r.Guardrails(t.Context(), "acme", skill("acme", "d.x"), "d"); len(got) != allowed ||
		r.Err(t.Context()) != nil {
		t.Errorf("got %d guardrails and %v, want all of %d", len(got), r.Err(t.Context()), allowed)
	}
	r.Graph.Apply(skill("acme", "d.x"), names("b1"))
	got := r.Linked("acme", skill("acme", "d.x"), graph.ContextBuilders)
	if err := r.Err(t.Context()); got != nil || !errors.Is(err, schemas.ErrResponseTooLarge) {
		t.Errorf("one more link: got %v and %v, want %v", got, err, schemas.ErrResponseTooLarge)
	}
}

// BenchmarkSkill resolves one skill among 10,000 records: its context builders,
// their tools, its guardrails, template and tools.
func BenchmarkSkill(b *testing.B) {
	var records [][4]string
	for i := range 10_000 {
		domain := fmt.Sprintf("domain%d", i%50)
		record, _ := json.Marshal(map[string]any{
			"domain": domain, "template_id": "t",
			"context_builder_ids": []string{fmt.Sprintf("cb.%d", i%2000), fmt.Sprintf("cb.%d", (i+1)%2000)},
			"tool_ids":            []string{fmt.Sprintf("aws.ec2.op%d", i%3000)},
		})
		switch {
		case i < 3000:
			records = append(records, [4]string{schemas.KindTool, "", fmt.Sprintf("aws.ec2.op%d", i), `{}`})
		case i < 5000:
			records = append(records, [4]string{schemas.KindContextBuilder, "", fmt.Sprintf("cb.%d", i-3000), string(record)})
		case i < 5100:
			records = append(records, [4]string{schemas.KindGuardrail, "", fmt.Sprintf("g.%d", i), string(record)})
		default:
			records = append(records, [4]string{schemas.KindSkill, "", id(i), string(record)})
		}
	}
	all := *registered(b, records...)
	for i := 0; b.Loop(); i++ {
		r, n := all, 5100+i%4900
		s := skill("", id(n))
		for _, cb := range r.ContextBuilders(b.Context(), "acme", s, fmt.Sprintf("domain%d", n%50)) {
			r.Linked("acme", cb.Node, graph.Tools)
		}
		r.Guardrails(b.Context(), "acme", s, fmt.Sprintf("domain%d", n%50))
		r.Linked("acme", s, graph.Tools)
		r.Linked("acme", s, graph.Template)
	}
}
