package main

import (
	"slices"
	"testing"
)

func TestResolveTemplate(t *testing.T) {
	t.Parallel()
	target := []string{"--url", shared(t), "--tenant", "templates"}
	records := `{"skill_id": "net.a", "template_id": "tpl", "tool_ids": ["p.s.gone"]} {"template_id": "tpl", ` +
		`"body": "{{n}} of {{site}}\n", "variables": [{"name": "site", "required": true}, {"name": "n", "type": "integer", "default": 5}]}`
	do(t, records, append([]string{"apply", "-"}, target...)...).must(t)
	for _, row := range []step{
		{"a template", []string{"--template", "tpl", "--var", "site=a=b, c", "--var", "n=7"}, 0, "7 of a=b, c\n"},
		{"the template of a skill", []string{"net.a", "--var", "site=x"}, 0, "5 of x\n"},
		{"as JSON", []string{"--template", "tpl", "--var", "site=x", "-o", "json"}, 0, `"text": "5 of x\n"`},
		{"a missing variable", []string{"--template", "tpl"}, exitUsage, "variables.site: required"},
		{"an undeclared variable", []string{"--template", "tpl", "--var", "x=1"}, exitUsage,
			"variables.x: the template declares"},
		{"a wrong type", []string{"--template", "tpl", "--var", "site=x", "--var", "n=many"}, exitUsage,
			"expected an integer"},
		{"a variable without a value", []string{"--template", "tpl", "--var", "site"}, exitUsage, "expected NAME=VALUE"},
		{"an absent template", []string{"--template", "none"}, exitNotFound, "CE-032"},
		{"a skill and a template", []string{"net.a", "--template", "tpl"}, exitUsage, "either a SKILL_ID or"},
		{"a package with a missing tool", []string{"net.a", "--explain"}, 0,
			"missing           tool/p.s.gone  [via tool_ids]"},
	} {
		row.args = slices.Insert(row.args, 0, "resolve")
		row.check(t, target...)
	}
}
