package graph_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/schemas"
	"cairn/services/internal/graph"
)

func TestEdges(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, kind, record string
		want               []graph.Edge
	}{
		{"a skill with all four kinds of links", schemas.KindSkill,
			`{"skill_id":"net.x","domain":"net","context_builder_ids":["cb.2","cb.1"],"guardrail_ids":["g"],"template_id":"t","tool_ids":["a.b.c"],"skill_ids":["not.read"]}`,
			[]graph.Edge{{graph.ContextBuilders, "cb.2"}, {graph.ContextBuilders, "cb.1"},
				{graph.Guardrails, "g"}, {graph.Template, "t"}, {graph.Tools, "a.b.c"}}},
		{"a skill without links", schemas.KindSkill, `{"skill_id":"net.x"}`, nil},
		{"a duplicate id", schemas.KindSkill, `{"tool_ids":["a.b.c","a.b.c"]}`, []graph.Edge{{graph.Tools, "a.b.c"}}},
		{"null lists", schemas.KindSkill, `{"tool_ids":null,"template_id":null}`, nil},
		{"a context builder without skills serves its domain", schemas.KindContextBuilder,
			`{"domain":"net","tool_ids":["a.b.c"]}`,
			[]graph.Edge{{graph.Tools, "a.b.c"}, {graph.BuildsDomain, "net"}}},
		{"a context builder with skills serves only those", schemas.KindContextBuilder,
			`{"domain":"net","skill_ids":["net.x"]}`, []graph.Edge{{graph.Skills, "net.x"}}},
		{"an agent's skills", schemas.KindAgent, `{"agent_id":"a","domain":"net","skill_ids":["net.y","net.x"]}`,
			[]graph.Edge{{graph.Skills, "net.y"}, {graph.Skills, "net.x"}}},
		{"a guardrail with neither applies to all skills", schemas.KindGuardrail, `{"guardrail_id":"g"}`,
			[]graph.Edge{{graph.GuardsAll, graph.Everywhere}}},
		{"a guardrail with a domain", schemas.KindGuardrail, `{"domain":"net"}`, []graph.Edge{{graph.GuardsDomain, "net"}}},
		{"a guardrail with skills", schemas.KindGuardrail, `{"skill_ids":["net.x"]}`, []graph.Edge{{graph.Skills, "net.x"}}},
		{"a guardrail with both", schemas.KindGuardrail, `{"domain":"db","skill_ids":["net.x"]}`,
			[]graph.Edge{{graph.Skills, "net.x"}, {graph.GuardsDomain, "db"}}},
		{"a tool has no links", schemas.KindTool, `{"tool_ids":["a.b.c"]}`, nil},
		{"a template with skills", schemas.KindTemplate, `{"skill_ids":["net.x"]}`, []graph.Edge{{graph.Skills, "net.x"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, graph.Edges(row.kind, linking(t, row.record))); diff != "" {
				t.Errorf("edges (-want +got):\n%s", diff)
			}
		})
	}
}

// linking decodes the link fields of a JSON record.
func linking(t testing.TB, record string) graph.Fields {
	t.Helper()
	var f struct {
		Domain          string   `json:"domain"`
		ContextBuilders []string `json:"context_builder_ids"`
		Guardrails      []string `json:"guardrail_ids"`
		Template        string   `json:"template_id"`
		Tools           []string `json:"tool_ids"`
		Skills          []string `json:"skill_ids"`
	}
	if err := json.Unmarshal([]byte(record), &f); err != nil {
		t.Fatal(err)
	}
	return graph.Fields(f)
}
