package resolve_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.records(
		record{skill, "", `{"skill_id":"net.audit","template_id":"t"}`},
		record{tmpl, "", `{"template_id":"t","body":"global {{a}}","variables":[{"name":"a","required":true}]}`},
		record{tmpl, "acme", `{"template_id":"t","body":"acme {{a}}","variables":[{"name":"a"}]}`},
		record{tmpl, "", `{"template_id":"old","body":{"is":"from an earlier version"},"variables":"too"}`},
	)
	value := map[string]jsontext.Value{"a": jsontext.Value(`"x"`)}
	for _, row := range []struct {
		name, tenant string
		query        schemas.TemplateQuery
		want         string
		err          error
	}{
		{"of a skill", "", schemas.TemplateQuery{SkillID: "net.audit", Variables: value}, "global x", nil},
		{"by id", "", schemas.TemplateQuery{TemplateID: "t", Variables: value},
			"global x", nil},
		{"the tenant's takes precedence", "acme", schemas.TemplateQuery{TemplateID: "t", Variables: value}, "acme x", nil},
		{"another tenant has the global one", "other", schemas.TemplateQuery{TemplateID: "t", Variables: value},
			"global x", nil},
		{"without variables it is not rendered", "", schemas.TemplateQuery{TemplateID: "t"}, "", nil},
		{"no values are values too", "acme", schemas.TemplateQuery{TemplateID: "t",
			Variables: map[string]jsontext.Value{}}, "acme ", nil},
		{"a missing value", "", schemas.TemplateQuery{TemplateID: "t", Variables: map[string]jsontext.Value{}}, "",
			schemas.ErrMalformed},
		{"a template of an earlier version", "", schemas.TemplateQuery{TemplateID: "old"}, "", nil},
		{"an absent template", "", schemas.TemplateQuery{TemplateID: "none"}, "", schemas.ErrTemplateNotFound},
		{"neither a skill nor a template", "", schemas.TemplateQuery{}, "", schemas.ErrMalformed},
		{"both", "", schemas.TemplateQuery{SkillID: "net.audit", TemplateID: "t"}, "", schemas.ErrMalformed},
	} {
		row.query.QueryOptions = asTenant(row.tenant)
		a, err := bus.ResolveTemplate.Call(w.ctx(), w.conn, row.query)
		if got := schemas.ValueOr(a.Text, ""); got != row.want || !errors.Is(err, row.err) {
			t.Errorf("%s: got %q, %v, want %q, %v", row.name, got, err, row.want, row.err)
		}
	}
}
