package resolve

import (
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/graph"
)

// asked is a skill in the eyes of a tenant. It is used while mu is held.
type asked struct {
	*Resolver
	tenant string
	skill  graph.Node
	why    *reasons
}

func (s asked) builders() []graph.Reach {
	return s.reader.ContextBuilders(s.tenant, s.skill, s.factsOf(s.skill).domain)
}

func (s asked) guardrails() []graph.Reach {
	return s.reader.Guardrails(s.tenant, s.skill, s.factsOf(s.skill).domain)
}

// tools are those of the context builders and of the skill, once each.
func (s asked) tools(builders []graph.Reach) []graph.Reach {
	var tools []graph.Reach
	seen := map[graph.Node]bool{}
	for _, from := range append(builders[:len(builders):len(builders)], graph.Reach{Node: s.skill}) {
		for _, t := range s.reader.Named(s.tenant, from.Node, graph.Tools) {
			if !seen[t.Node] {
				tools = append(tools, t)
			}
			seen[t.Node] = true
		}
	}
	return tools
}

func (s asked) template() (graph.Reach, bool) {
	return s.reader.Template(s.tenant, s.skill)
}

// records are the records reached, each with its reason.
func (s asked) records(reached []graph.Reach) []jsontext.Value {
	records := make([]jsontext.Value, len(reached))
	for i, n := range reached {
		records[i] = s.record(n.Node)
		s.why.add(n.Node, n.Via)
	}
	return records
}

// reasons are the explanations of an answer, when they are wanted.
type reasons struct {
	wanted bool
	list   []schemas.Explanation
}

func (w *reasons) add(n graph.Node, via string) {
	if w.wanted {
		w.list = append(w.list, explain(n, via))
	}
}

func explain(n graph.Node, via string) schemas.Explanation {
	scope := schemas.ScopeGlobal
	if n.Tenant != "" {
		scope = schemas.ScopeTenant
	}
	return schemas.Explanation{Kind: n.Kind, ID: n.ID, Scope: scope, Via: via}
}
