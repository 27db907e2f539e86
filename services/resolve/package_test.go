package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/schemas"
)

// record is a record of a row: kind, tenant and JSON.
type record struct{ kind, tenant, json string }

// records registers the records under their ids.
func (w *world) records(list ...record) {
	w.t.Helper()
	for _, r := range list {
		var fields map[string]jsontext.Value
		if err := json.Unmarshal([]byte(r.json), &fields); err != nil {
			w.t.Fatal(err)
		}
		var id string
		if err := json.Unmarshal(fields[r.kind+"_id"], &id); err != nil {
			w.t.Fatal(err)
		}
		w.put(r.kind, r.tenant, id, r.json)
	}
}

const (
	skill   = schemas.KindSkill
	agent   = schemas.KindAgent
	tool    = schemas.KindTool
	builder = schemas.KindContextBuilder
	guard   = schemas.KindGuardrail
	tmpl    = schemas.KindTemplate
)

// ids returns the ids of the records, each with its marker if it has one.
func ids(t testing.TB, kind string, records []jsontext.Value) []string {
	t.Helper()
	list := []string{}
	for _, r := range records {
		var fields map[string]jsontext.Value
		if err := json.Unmarshal(r, &fields); err != nil {
			t.Fatal(err)
		}
		var id, field string
		if err := json.Unmarshal(fields[kind+"_id"], &id); err != nil {
			t.Fatal(err)
		}
		if fields["of"] != nil {
			if err := json.Unmarshal(fields["of"], &field); err != nil {
				t.Fatal(err)
			}
			id += " of " + field
		}
		list = append(list, id)
	}
	return list
}

// parts is a skill package reduced to ids.
type parts struct {
	Skill, Template             string
	Builders, Guardrails, Tools []string
	Missing                     []string
}

func (w *world) parts(tenant, id string) (parts, error) {
	w.t.Helper()
	a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{SkillID: id, QueryOptions: asTenant(tenant)})
	if err != nil {
		return parts{}, err
	}
	p := parts{
		Skill:      ids(w.t, skill, []jsontext.Value{a.Package.Manifest})[0],
		Builders:   ids(w.t, builder, a.Package.ContextBuilders),
		Guardrails: ids(w.t, guard, a.Package.Guardrails),
		Tools:      ids(w.t, tool, a.Package.Tools),
	}
	for _, m := range a.Package.Missing {
		p.Missing = append(p.Missing, fmt.Sprintf("%s/%s via %s", m.Kind, m.ID, m.Via))
	}
	if string(a.Package.Template) != "{}" {
		p.Template = ids(w.t, tmpl, []jsontext.Value{a.Package.Template})[0]
	}
	return p, nil
}

func TestSkillPackage(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name    string
		records []record
		tenant  string
		want    parts
		err     error
	}{
		{name: "an unknown skill is not found", err: schemas.ErrSkillNotFound},
		{name: "a skill without links has an empty package",
			records: []record{{skill, "", `{"skill_id":"net.audit"}`}},
			want:    parts{Skill: "net.audit"}},
		{name: "links are followed in the order of the skill",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","context_builder_ids":["b","a"],"guardrail_ids":["g"],"tool_ids":["p.s.two","p.s.one"],"template_id":"t"}`},
				{builder, "", `{"context_builder_id":"a"}`}, {builder, "", `{"context_builder_id":"b"}`},
				{guard, "", `{"guardrail_id":"g","domain":"other"}`}, {tmpl, "", `{"template_id":"t"}`},
				{tool, "", `{"tool_id":"p.s.one"}`}, {tool, "", `{"tool_id":"p.s.two"}`},
			},
			want: parts{Skill: "net.audit", Template: "t", Builders: []string{"b", "a"}, Guardrails: []string{"g"},
				Tools: []string{"p.s.two", "p.s.one"}}},
		{name: "links to missing records are skipped and listed",
			records: []record{{skill, "", `{"skill_id":"net.audit","context_builder_ids":["b"],"tool_ids":["p.s.one"],
				"guardrail_ids":["g"],"template_id":"t"}`}},
			want: parts{Skill: "net.audit", Missing: []string{"context_builder/b via context_builder_ids",
				"guardrail/g via guardrail_ids", "tool/p.s.one via tool_ids", "template/t via template_id"}}},
		{name: "a missing tool of several records is listed once",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","context_builder_ids":["b"],"tool_ids":["p.s.one"]}`},
				{builder, "", `{"context_builder_id":"b","tool_ids":["p.s.one"]}`},
			},
			want: parts{Skill: "net.audit", Builders: []string{"b"}, Missing: []string{"tool/p.s.one via tool_ids"}}},
		{name: "a record of another tenant is missing", tenant: "acme",
			records: []record{{skill, "acme", `{"skill_id":"net.audit","tool_ids":["p.s.one"]}`},
				{tool, "other", `{"tool_id":"p.s.one"}`}},
			want: parts{Skill: "net.audit", Missing: []string{"tool/p.s.one via tool_ids"}}},
		{name: "tools of the context builders and of the skill, without duplicates",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","context_builder_ids":["b"],"tool_ids":["p.s.one","p.s.three"]}`},
				{builder, "", `{"context_builder_id":"b","tool_ids":["p.s.two","p.s.one"]}`},
				{tool, "", `{"tool_id":"p.s.one"}`}, {tool, "", `{"tool_id":"p.s.two"}`}, {tool, "", `{"tool_id":"p.s.three"}`},
			},
			want: parts{Skill: "net.audit", Builders: []string{"b"}, Tools: []string{"p.s.two", "p.s.one", "p.s.three"}}},
		{name: "a context builder without links serves every skill of its domain",
			records: []record{
				{skill, "", `{"skill_id":"net.audit"}`},
				{builder, "", `{"context_builder_id":"mine","domain":"net"}`},
				{builder, "", `{"context_builder_id":"other","domain":"billing"}`},
				{builder, "", `{"context_builder_id":"bound","domain":"net","skill_ids":["net.else"]}`},
				{builder, "", `{"context_builder_id":"named","skill_ids":["net.audit"]}`},
			},
			want: parts{Skill: "net.audit", Builders: []string{"named", "mine"}}},
		{name: "a guardrail with neither domain nor skills applies to every skill",
			records: []record{
				{skill, "", `{"skill_id":"net.audit"}`},
				{guard, "", `{"guardrail_id":"all"}`}, {guard, "", `{"guardrail_id":"net","domain":"net"}`},
				{guard, "", `{"guardrail_id":"other","domain":"billing"}`},
				{guard, "", `{"guardrail_id":"skill","skill_ids":["net.audit"]}`},
			},
			want: parts{Skill: "net.audit", Guardrails: []string{"skill", "net", "all"}}},
		{name: "the tenant's record takes precedence", tenant: "acme",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","of":"global"}`}, {skill, "acme", `{"skill_id":"net.audit","of":"acme"}`},
			},
			want: parts{Skill: "net.audit of acme"}},
		{name: "without a tenant only the global record is visible",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","of":"global"}`}, {skill, "acme", `{"skill_id":"net.audit","of":"acme"}`},
			},
			want: parts{Skill: "net.audit of global"}},
		{name: "another tenant's record is not found", tenant: "other",
			records: []record{{skill, "acme", `{"skill_id":"net.audit"}`}}, err: schemas.ErrSkillNotFound},
		{name: "linked ids fall back to the global collection too", tenant: "acme",
			records: []record{
				{skill, "acme", `{"skill_id":"net.audit","of":"acme","tool_ids":["p.s.one","p.s.two"],"template_id":"t"}`},
				{tool, "", `{"tool_id":"p.s.one","of":"global"}`}, {tool, "", `{"tool_id":"p.s.two","of":"global"}`},
				{tool, "acme", `{"tool_id":"p.s.two","of":"acme"}`}, {tmpl, "", `{"template_id":"t","of":"global"}`},
			},
			want: parts{Skill: "net.audit of acme", Template: "t of global",
				Tools: []string{"p.s.one of global", "p.s.two of acme"}}},
		{name: "a global skill is served by the tenant's own records", tenant: "acme",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","tool_ids":["p.s.one"]}`},
				{tool, "", `{"tool_id":"p.s.one","of":"global"}`}, {tool, "acme", `{"tool_id":"p.s.one","of":"acme"}`},
			},
			want: parts{Skill: "net.audit", Tools: []string{"p.s.one of acme"}}},
		{name: "global and the tenant's guardrails both apply", tenant: "acme",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","guardrail_ids":["g"]}`},
				{guard, "", `{"guardrail_id":"g","domain":"x","of":"global"}`},
				{guard, "acme", `{"guardrail_id":"g","domain":"x","of":"acme"}`},
				{guard, "other", `{"guardrail_id":"g","of":"other"}`},
			},
			want: parts{Skill: "net.audit", Guardrails: []string{"g of global", "g of acme"}}},
		{name: "a template may link to the skill",
			records: []record{{skill, "", `{"skill_id":"net.audit"}`},
				{tmpl, "", `{"template_id":"t","skill_ids":["net.audit"]}`}},
			want: parts{Skill: "net.audit", Template: "t"}},
		{name: "the template that the skill links to takes precedence",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","template_id":"z"}`},
				{tmpl, "", `{"template_id":"a","skill_ids":["net.audit"]}`}, {tmpl, "", `{"template_id":"z"}`},
			},
			want: parts{Skill: "net.audit", Template: "z"}},
		{name: "a referring template of the tenant takes precedence", tenant: "acme",
			records: []record{
				{skill, "", `{"skill_id":"net.audit"}`}, {tmpl, "", `{"template_id":"a","skill_ids":["net.audit"]}`},
				{tmpl, "acme", `{"template_id":"z","skill_ids":["net.audit"]}`},
			},
			want: parts{Skill: "net.audit", Template: "z"}},
		{name: "a referring global template is hidden by the tenant's with the same id", tenant: "acme",
			records: []record{
				{skill, "", `{"skill_id":"net.audit"}`}, {tmpl, "", `{"template_id":"t","skill_ids":["net.audit"]}`},
				{tmpl, "acme", `{"template_id":"t"}`},
			},
			want: parts{Skill: "net.audit"}},
		{name: "an inactive skill is found by id",
			records: []record{{skill, "", `{"skill_id":"net.audit","status":"draft"}`}},
			want:    parts{Skill: "net.audit"}},
		{name: "drafts and retired records are not reached by links",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","tool_ids":["p.s.one","p.s.two","p.s.three"],"template_id":"t"}`},
				{tool, "", `{"tool_id":"p.s.one","status":"draft"}`}, {tool, "", `{"tool_id":"p.s.two","status":"deprecated"}`},
				{tool, "", `{"tool_id":"p.s.three","status":"other"}`}, {tmpl, "", `{"template_id":"t","status":"retired"}`},
				{guard, "", `{"guardrail_id":"g","status":"draft"}`},
				{builder, "", `{"context_builder_id":"b","domain":"net","status":"retired"}`},
			},
			want: parts{Skill: "net.audit", Tools: []string{"p.s.two", "p.s.three"},
				Missing: []string{"tool/p.s.one via tool_ids", "template/t via template_id"}}},
		{name: "values that an earlier version stored uninterpreted are not validated",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","version":7,"labels":["x"],"resources":"none","instructions":{},"license":1,"replaced_by":[]}`},
				{builder, "", `{"context_builder_id":"b","domain":"net","status":{},"labels":{"n":1},"version":null}`},
				{guard, "", `{"guardrail_id":"g","status":false}`},
			},
			want: parts{Skill: "net.audit", Builders: []string{"b"}, Guardrails: []string{"g"}}},
		{name: "fields without a meaning for the kind are not validated",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","skill_ids":7,"tool_class":[],"tool_ids":["p.s.one"]}`},
				{tool, "", `{"tool_id":"p.s.one","tool_ids":"x","template_id":{}}`},
			},
			want: parts{Skill: "net.audit", Tools: []string{"p.s.one"}}},
		{name: "re-registration replaces the record, links included",
			records: []record{
				{skill, "", `{"skill_id":"net.audit","tool_ids":["p.s.one"]}`}, {tool, "", `{"tool_id":"p.s.one"}`},
				{tool, "", `{"tool_id":"p.s.two"}`},
				{skill, "", `{"skill_id":"net.audit","tool_ids":["p.s.two"]}`},
			},
			want: parts{Skill: "net.audit", Tools: []string{"p.s.two"}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := serving(t)
			w.records(row.records...)
			got, err := w.parts(row.tenant, "net.audit")
			if !errors.Is(err, row.err) {
				t.Fatalf("got %v, want %v", err, row.err)
			}
			equate := cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
			if diff := cmp.Diff(row.want, got, equate); diff != "" {
				t.Errorf("package differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkillPackageOnTheWire(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.records(
		record{skill, "", `{"skill_id":"net.audit","big":9007199254740993,"html":"<a> & b","context_builder_ids":["b"]}`},
		record{builder, "", `{"context_builder_id":"b","instructions":null,"extra":[1]}`},
	)
	reply, err := bus.ResolveSkill.Forward(w.ctx(), w.conn, []byte(`{"skill_id":"net.audit","tenant_id":null}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"skill_id":"net.audit","manifest":{"skill_id":"net.audit","big":9007199254740993,"html":"<a> & b","context_builder_ids":["b"]},` +
		`"context_builders":[{"context_type":"","tool_ids":[],"instructions":"","context_builder_id":"b","extra":[1]}],` +
		`"guardrails":[],"template":{},"tools":[]}`
	if diff := cmp.Diff(want, string(reply.Body)); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.records(
		record{skill, "", `{"skill_id":"net.audit","context_builder_ids":["b"],"tool_ids":["p.s.one"]}`},
		record{builder, "acme", `{"context_builder_id":"b"}`},
		record{tool, "", `{"tool_id":"p.s.one"}`},
		record{guard, "", `{"guardrail_id":"g"}`},
	)
	options := asTenant("acme")
	options.Explain = true
	a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{SkillID: "net.audit", QueryOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	want := []schemas.Explanation{
		{Kind: skill, ID: "net.audit", Scope: schemas.ScopeGlobal, Via: "skill_id"},
		{Kind: builder, ID: "b", Scope: schemas.ScopeTenant, Via: "context_builder_ids"},
		{Kind: guard, ID: "g", Scope: schemas.ScopeGlobal, Via: "guards_all"},
		{Kind: tool, ID: "p.s.one", Scope: schemas.ScopeGlobal, Via: "tool_ids"},
	}
	if diff := cmp.Diff(want, a.Package.Explain); diff != "" {
		t.Errorf("explanations differ (-want +got):\n%s", diff)
	}
}

func TestContextBuilders(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.records(
		record{skill, "", `{"skill_id":"net.audit","context_builder_ids":["doc","log","plain"]}`},
		record{skill, "", `{"skill_id":"billing.none"}`},
		record{builder, "", `{"context_builder_id":"doc","context_type":"doc"}`},
		record{builder, "", `{"context_builder_id":"log","context_type":"log"}`},
		record{builder, "", `{"context_builder_id":"plain"}`},
	)
	rows := []struct {
		name, skill string
		types, want []string
		err         error
	}{
		{"all context builders without context_types", "net.audit", nil, []string{"doc", "log", "plain"}, nil},
		{"all context builders with empty context_types", "net.audit", []string{}, []string{"doc", "log", "plain"}, nil},
		{"context builders of the context_types", "net.audit", []string{"log", "none"}, []string{"log"}, nil},
		{"no context builder of the context_types is not found", "net.audit", []string{"none"}, nil,
			schemas.ErrContextBuilderNotFound},
		{"a skill without context builders", "billing.none", nil, nil, schemas.ErrContextBuilderNotFound},
		{"an unknown skill", "net.unknown", nil, nil, schemas.ErrSkillNotFound},
	}
	for _, row := range rows {
		for name, endpoint := range map[string]bus.Endpoint[schemas.ContextQuery, schemas.ContextAnswer]{
			"context": bus.ResolveContext, "context_builders": bus.ResolveContextBuilders,
		} {
			t.Run(fmt.Sprintf("%s/%s", name, row.name), func(t *testing.T) {
				t.Parallel()
				a, err := endpoint.Call(w.ctx(), w.conn, schemas.ContextQuery{SkillID: row.skill, ContextTypes: row.types})
				if !errors.Is(err, row.err) {
					t.Fatalf("got %v, want %v", err, row.err)
				}
				if diff := cmp.Diff(row.want, ids(t, builder, a.ContextBuilders)); row.err == nil && diff != "" {
					t.Errorf("context builders differ (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestTemplateAndGuardrailsOfASkill(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.records(
		record{skill, "", `{"skill_id":"net.audit","template_id":"t","guardrail_ids":["g"]}`},
		record{skill, "", `{"skill_id":"billing.none"}`},
		record{tmpl, "", `{"template_id":"t"}`},
		record{guard, "", `{"guardrail_id":"g","domain":"net"}`},
	)
	template := func(ctx context.Context, id string) ([]string, error) {
		a, err := bus.ResolveTemplate.Call(ctx, w.conn, schemas.TemplateQuery{SkillID: id})
		if err != nil {
			return nil, err
		}
		return ids(t, tmpl, []jsontext.Value{a.Template}), nil
	}
	guardrails := func(ctx context.Context, id string) ([]string, error) {
		a, err := bus.ResolveGuardrail.Call(ctx, w.conn, schemas.SkillRef{SkillID: id})
		if err != nil {
			return nil, err
		}
		return ids(t, guard, a.Guardrails), nil
	}
	rows := []struct {
		name    string
		resolve func(context.Context, string) ([]string, error)
		skill   string
		want    []string
		err     error
	}{
		{"the template", template, "net.audit", []string{"t"}, nil},
		{"a skill without a template", template, "billing.none", nil, schemas.ErrTemplateNotFound},
		{"the template of an unknown skill", template, "net.unknown", nil, schemas.ErrSkillNotFound},
		{"the guardrails", guardrails, "net.audit", []string{"g"}, nil},
		{"no guardrails are an empty list", guardrails, "billing.none", []string{}, nil},
		{"the guardrails of an unknown skill", guardrails, "net.unknown", nil, schemas.ErrSkillNotFound},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := row.resolve(w.ctx(), row.skill)
			if !errors.Is(err, row.err) {
				t.Fatalf("got %v, want %v", err, row.err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("answer differs (-want +got):\n%s", diff)
			}
		})
	}
}
