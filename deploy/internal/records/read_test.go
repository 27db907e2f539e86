package records

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestReadRecords(t *testing.T) {
	t.Parallel()
	type record struct{ Source, Kind, ID, Wrong, Body string }
	for _, row := range []struct {
		name, file, text, tenant string
		want                     []record
	}{
		{"a record", "a.json", `{"tool_id": "a.b.c"}`, "",
			[]record{{"a.json:1", "tool", "a.b.c", "", `{"tool_id":"a.b.c"}`}}},
		{"a list, over lines", "a.json", "[\n{\"agent_id\": \"a\"},\n\n{\"guardrail_id\": \"g\",\n\"skill_ids\": []}]", "",
			[]record{
				{"a.json:2", "agent", "a", "", `{"agent_id":"a"}`},
				{"a.json:4", "guardrail", "g", "", `{"guardrail_id":"g","skill_ids":[]}`}}},
		{"a skill that names its template", "a.json", `{"skill_id": "a.b", "template_id": "t"}`, "",
			[]record{{"a.json:1", "skill", "a.b", "", `{"skill_id":"a.b","template_id":"t"}`}}},
		{"a template", "a.json", `{"template_id": "t"}`, "",
			[]record{{"a.json:1", "template", "t", "", `{"template_id":"t"}`}}},
		{"the body of a registration", "a.json", `{"agent_data": {"agent_id": "a"}, "skill_ids": ["x.y"]}`, "",
			[]record{{"a.json:1", "agent", "a", "", `{"agent_id":"a","skill_ids":["x.y"]}`}}},
		{"two ids", "a.json", `{"agent_id": "a", "tool_id": "a.b.c"}`, "",
			[]record{{"a.json:1", "", "", "ambiguous kind", ""}}},
		{"no id", "a.json", `{"name": "a"}`, "", []record{{"a.json:1", "", "", "unknown kind", ""}}},
		{"no object", "a.json", `[7]`, "", []record{{"a.json:1", "", "", "expected a record", ""}}},
		{"a malformed file", "a.json", "[{\"agent_id\": \"a\"},\n{]", "", []record{
			{"a.json:1", "agent", "a", "", `{"agent_id":"a"}`}, {"a.json:1", "", "", "invalid JSON", ""}}},
		{"lines, one broken", "a.jsonl", "{\"agent_id\": \"a\"}\n\n{\n{\"agent_id\": \"b\"}", "", []record{
			{"a.jsonl:1", "agent", "a", "", `{"agent_id":"a"}`},
			{"a.jsonl:3", "", "", "invalid JSON", ""},
			{"a.jsonl:4", "agent", "b", "", `{"agent_id":"b"}`}}},
		{"YAML documents and lists", "a.yaml",
			"---\nagent_id: a\n---\n# nothing\n---\n- context_builder_id: c\n  since: 2026-01-31\n- agent_id: b\n", "", []record{
				{"a.yaml:2", "agent", "a", "", `{"agent_id":"a"}`},
				{"a.yaml:6", "context_builder", "c", "", `{"context_builder_id":"c","since":"2026-01-31"}`},
				{"a.yaml:8", "agent", "b", "", `{"agent_id":"b"}`}}},
		{"broken YAML", "a.yml", "a: [", "", []record{{"a.yml", "", "", "invalid YAML", ""}}},
		{"the tenant of a bare record", "a.json", `{"agent_id": "a"}`, "t",
			[]record{{"a.json:1", "agent", "a", "", `{"agent_id":"a","tenant_id":"t"}`}}},
		{"the tenant of a body", "a.json", `{"agent_data": {"agent_id": "a"}}`, "t",
			[]record{{"a.json:1", "agent", "a", "", `{"agent_id":"a","tenant_id":"t"}`}}},
		{"a record that names its tenant", "a.json", `[{"agent_id":"a","tenant_id":"own"},{"agent_id":"b","tenant_id":null}]`,
			"t", []record{
				{"a.json:1", "agent", "a", "", `{"agent_id":"a","tenant_id":"own"}`},
				{"a.json:1", "agent", "b", "", `{"agent_id":"b","tenant_id":null}`}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var got []record
			for _, f := range formats[filepath.Ext(row.file)](row.file, []byte(row.text)) {
				r := f.Record(row.tenant)
				g := record{Source: r.Source, Kind: r.Kind, ID: r.ID, Body: compact(r.JSON)}
				if r.err != nil {
					g.Wrong = r.err.Error()
				}
				got = append(got, g)
			}
			for i := range min(len(got), len(row.want)) { // errors have a part of the message
				if want := row.want[i].Wrong; want != "" && strings.Contains(got[i].Wrong, want) {
					got[i].Wrong = want
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func compact(v jsontext.Value) string {
	v = v.Clone()
	_ = v.Compact() // text that is not JSON is returned as it is
	return string(v)
}

func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		"a.json": `{"agent_id":"a"}`, "a.jsonl": `{"agent_id":"a"}`, "a.yaml": "agent_id: a\n", "-": `{"agent_id":"a"}`,
	} {
		text, path := "\uFEFF"+text, file
		if file != "-" {
			path = filepath.Join(t.TempDir(), file)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list, err := ReadAll([]string{path}, strings.NewReader(text))
		if err != nil || len(list) != 1 || string(list[0].Text) != `{"agent_id":"a"}` {
			t.Errorf("%s: got %v, %v", file, list, err)
		}
	}
}
