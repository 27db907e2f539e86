package graph

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

// The predicates by which records name records: the fields that do it.
const (
	ContextBuilders = "context_builder_ids" // of a skill
	Guardrails      = "guardrail_ids"       // of a skill
	Template        = "template_id"         // of a skill
	Tools           = "tool_ids"            // of a skill or a context builder
	Skills          = "skill_ids"           // of an agent, a guardrail, a template or a context builder
)

// The predicates that offer a record to skills it does not name.
const (
	// BuildsDomain leads from a context builder that names no skill to its
	// domain. Whether a skill names it is known only to the reader.
	BuildsDomain = "builds_domain"
	// GuardsDomain leads from a guardrail to its domain.
	GuardsDomain = "guards_domain"
	// GuardsAll leads from a guardrail with neither domain nor skills to Everywhere.
	GuardsAll = "guards_all"
)

const (
	// KindDomain is the kind of the nodes that stand for domains.
	KindDomain = "domain"
	// Everywhere is the id of the domain that every skill is in; no name of a
	// domain is empty.
	Everywhere = ""
)

// kindOf is the kind of what a predicate names.
func kindOf(predicate string) string {
	switch predicate {
	case ContextBuilders:
		return schemas.KindContextBuilder
	case Guardrails:
		return schemas.KindGuardrail
	case Template:
		return schemas.KindTemplate
	case Tools:
		return schemas.KindTool
	case Skills:
		return schemas.KindSkill
	default:
		return KindDomain
	}
}

// fields are those of a record that link it.
type fields struct {
	Domain          string   `json:"domain"`
	ContextBuilders []string `json:"context_builder_ids"`
	Guardrails      []string `json:"guardrail_ids"`
	Template        string   `json:"template_id"`
	Tools           []string `json:"tool_ids"`
	Skills          []string `json:"skill_ids"`
}

// Derive reads the links of a record of the kind off its JSON, in their order
// and each once. It answers an error, and no links, for what is no record.
func Derive(kind string, record []byte) ([]Edge, error) {
	var f fields
	if err := json.Unmarshal(record, &f); err != nil {
		return nil, fmt.Errorf("read the links of a %s: %w", kind, err)
	}
	switch kind {
	case schemas.KindSkill:
		return edges(links{ContextBuilders, f.ContextBuilders}, links{Guardrails, f.Guardrails},
			links{Template, one(f.Template)}, links{Tools, f.Tools}), nil
	case schemas.KindContextBuilder:
		return edges(links{Tools, f.Tools}, links{Skills, f.Skills}, f.builds()), nil
	case schemas.KindAgent, schemas.KindTemplate:
		return edges(links{Skills, f.Skills}), nil
	case schemas.KindGuardrail:
		return edges(links{Skills, f.Skills}, f.guards()), nil
	default:
		return nil, nil
	}
}

// builds offers a context builder to its domain unless it names skills. Tools
// are what it uses, not whom it serves, so naming tools does not bind it.
func (f fields) builds() links {
	if len(f.Skills) > 0 {
		return links{}
	}
	return links{BuildsDomain, one(f.Domain)}
}

// guards offers a guardrail to its domain, or everywhere when it has neither
// domain nor skills. One with both guards both: rather once too often.
func (f fields) guards() links {
	if f.Domain == "" && len(f.Skills) == 0 {
		return links{GuardsAll, []string{Everywhere}}
	}
	return links{GuardsDomain, one(f.Domain)}
}

// links are edges by one predicate.
type links struct {
	predicate string
	to        []string
}

func edges(lists ...links) []Edge {
	var all []Edge
	for _, list := range lists {
		seen := make(map[string]bool, len(list.to))
		for _, to := range list.to {
			if !seen[to] {
				all = append(all, Edge{list.predicate, to})
			}
			seen[to] = true
		}
	}
	return all
}

func one(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}
