package records

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInsertExamples(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, file, text string
		index            int
		want             string // empty: an error
	}{
		{"a YAML record", "a.yaml", "# ü\nskill_id: a.b # id\npurpose:   p\n", 0,
			"# ü\nskill_id: a.b # id\nexample_queries:\n  - \"one\"\n  - \"zwö: #\"\npurpose:   p\n"},
		{"a record of a YAML list", "a.yaml", "- skill_id: x\n- purpose: ü\n  skill_id: \"a.b\"", 1,
			"- skill_id: x\n- purpose: ü\n  skill_id: \"a.b\"\n  example_queries:\n    - \"one\"\n    - \"zwö: #\""},
		{"a YAML document with queries", "a.yaml", "tool_id: t.u\n---\nskill_id: a\r\nexample_queries:\r\n- x # own\n", 1,
			"tool_id: t.u\n---\nskill_id: a\r\nexample_queries:\r\n- \"one\"\n- \"zwö: #\"\n- x # own\n"},
		{"a flow sequence of queries", "a.yaml", "skill_id: a\nexample_queries: [x]\n", 0,
			"skill_id: a\nexample_queries: [\"one\", \"zwö: #\", x]\n"},
		{"a flow mapping", "a.yaml", "[ü, {skill_id: a}]", 1, `[ü, {example_queries: ["one", "zwö: #"], skill_id: a}]`},
		{"the body of a registration in YAML", "a.yaml", "record:\n  skill_id: a\n", 0,
			"record:\n  skill_id: a\n  example_queries:\n    - \"one\"\n    - \"zwö: #\"\n"},
		{"queries that are an alias", "a.yaml", "capabilities: &x [a]\nskill_id: a\nexample_queries: *x\n", 0, ""},
		{"JSON", "a.json", "[\n\t{\"skill_id\": \"x\"},\n\t{\"skill_id\": \"a\",\n\t \"purpose\":\"\\ud83e\\udd8a\"}]", 1,
			"[\n\t{\"skill_id\": \"x\"},\n\t{\"skill_id\": \"a\", \"example_queries\": [\"one\", \"zwö: #\"],\n\t \"purpose\":\"\\ud83e\\udd8a\"}]"},
		{"an empty JSON array of queries", "a.json", `{"example_queries": [ ], "skill_id": "a"}`, 0,
			`{"example_queries": ["one", "zwö: #" ], "skill_id": "a"}`},
		{"JSON null", "a.json", `{"example_queries": null, "skill_id": "a"}`, 0, ""},
		{"JSON Lines", "a.jsonl", "{\"tool_id\":\"ü\"}\n\n{\"record\":{\"skill_id\":\"a\",\"example_queries\":[\"x\"]}}\n", 1,
			"{\"tool_id\":\"ü\"}\n\n{\"record\":{\"skill_id\":\"a\",\"example_queries\":[\"one\", \"zwö: #\", \"x\"]}}\n"},
	} {
		got, err := InsertExamples(row.file, []byte(row.text), row.index, []string{"one", "zwö: #"})
		if diff := cmp.Diff(row.want, string(got)); diff != "" || (err != nil) != (row.want == "") {
			t.Errorf("%s: %v (-want +got):\n%s", row.name, err, diff)
		}
	}
}
