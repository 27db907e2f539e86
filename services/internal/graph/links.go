package graph

import "cairn/schemas"

// The predicates by which records name records: the fields that do it.
const (
	ContextBuilders = "context_builder_ids" // of a skill
	Guardrails      = "guardrail_ids"       // of a skill
	Template        = "template_id"         // of a skill
	Tools           = "tool_ids"            // of a skill or a context builder
	Skills          = "skill_ids"           // of a guardrail, a template or a context builder
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

// followedBack reports whether it is asked who names something by the
// predicate. By the others only the record itself is asked whom it names.
func followedBack(predicate string) bool {
	switch predicate {
	case Tools, Template, Guardrails:
		return false
	}
	return true
}

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

// Fields are those of a record that link it.
type Fields struct {
	Domain          string
	ContextBuilders []string
	Guardrails      []string
	Template        string
	Tools           []string
	Skills          []string
}

// Edges are the links that the fields mean in a record of the kind, in their
// order and each once. An agent's skills are none: nobody goes from an agent to
// them, or back.
func Edges(kind string, f Fields) []Edge {
	switch kind {
	case schemas.KindSkill:
		return edges(links{ContextBuilders, f.ContextBuilders}, links{Guardrails, f.Guardrails},
			links{Template, one(f.Template)}, links{Tools, f.Tools})
	case schemas.KindContextBuilder:
		return edges(links{Tools, f.Tools}, links{Skills, f.Skills}, f.builds())
	case schemas.KindTemplate:
		return edges(links{Skills, f.Skills})
	case schemas.KindGuardrail:
		return edges(links{Skills, f.Skills}, f.guards())
	default:
		return nil
	}
}

// builds offers a context builder to its domain unless it names skills. Tools
// are what it uses, not whom it serves, so naming tools does not bind it.
func (f Fields) builds() links {
	if len(f.Skills) > 0 {
		return links{}
	}
	return links{BuildsDomain, one(f.Domain)}
}

// guards offers a guardrail to its domain, or everywhere when it has neither
// domain nor skills. One with both guards both: rather once too often.
func (f Fields) guards() links {
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
