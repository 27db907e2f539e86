package graph

import (
	"slices"

	"cairn/schemas"
)

// Predicates of explicit links: the fields of records that hold them.
const (
	ContextBuilders = "context_builder_ids" // of a skill
	Guardrails      = "guardrail_ids"       // of a skill
	Template        = "template_id"         // of a skill
	Tools           = "tool_ids"            // of a skill or a context builder
	Skills          = "skill_ids"           // of an agent, a guardrail, a template or a context builder
)

// Predicates of implicit links, which apply a record to skills by rule.
const (
	// BuildsDomain links a context builder without links to skills to its domain. The
	// reader decides whether a skill links to it.
	BuildsDomain = "builds_domain"
	// GuardsDomain links a guardrail to its domain.
	GuardsDomain = "guards_domain"
	// GuardsAll links a guardrail with neither domain nor skills to Everywhere.
	GuardsAll = "guards_all"
)

const (
	// KindDomain is the kind of nodes that represent domains.
	KindDomain = "domain"
	// Everywhere is the id of the domain that contains every skill; a real domain
	// has a non-empty name.
	Everywhere = ""
)

// fields are the fields that hold links, each with the kind of its targets and the kinds of records that have it.
var fields = []struct {
	predicate, to string
	from          []string
}{
	{ContextBuilders, schemas.KindContextBuilder, []string{schemas.KindSkill}},
	{Guardrails, schemas.KindGuardrail, []string{schemas.KindSkill}},
	{Template, schemas.KindTemplate, []string{schemas.KindSkill}},
	{Tools, schemas.KindTool, []string{schemas.KindSkill, schemas.KindContextBuilder}},
	{Skills, schemas.KindSkill,
		[]string{schemas.KindAgent, schemas.KindContextBuilder, schemas.KindGuardrail, schemas.KindTemplate}},
}

// kindOf returns the kind of a predicate's targets.
func kindOf(predicate string) string {
	for _, f := range fields {
		if f.predicate == predicate {
			return f.to
		}
	}
	return KindDomain
}

// Linked returns the fields of records of the kind that hold links.
func Linked(kind string) (predicates []string) {
	for _, f := range fields {
		if slices.Contains(f.from, kind) {
			predicates = append(predicates, f.predicate)
		}
	}
	return predicates
}

// Linking returns the field that holds links to records of the kind, and the kinds of records that have it.
func Linking(kind string) (predicate string, kinds []string) {
	for _, f := range fields {
		if f.to == kind {
			return f.predicate, f.from
		}
	}
	return "", nil
}

// Fields are the fields of a record that hold links.
type Fields struct {
	Domain          string
	ContextBuilders []string
	Guardrails      []string
	Template        string
	Tools           []string
	Skills          []string
}

// Edges returns the distinct links of a record of the kind, in its order.
func Edges(kind string, f Fields) []Edge {
	switch kind {
	case schemas.KindSkill:
		return edges(links{ContextBuilders, f.ContextBuilders}, links{Guardrails, f.Guardrails},
			links{Template, one(f.Template)}, links{Tools, f.Tools})
	case schemas.KindContextBuilder:
		return edges(links{Tools, f.Tools}, links{Skills, f.Skills}, f.builds())
	case schemas.KindAgent, schemas.KindTemplate:
		return edges(links{Skills, f.Skills})
	case schemas.KindGuardrail:
		return edges(links{Skills, f.Skills}, f.guards())
	default:
		return nil
	}
}

// builds links a context builder to its domain unless it links to skills. Its tools
// do not restrict it to a skill.
func (f Fields) builds() links {
	if len(f.Skills) > 0 {
		return links{}
	}
	return links{BuildsDomain, one(f.Domain)}
}

// guards links a guardrail to its domain, or to Everywhere when it has neither
// domain nor skills. One with both applies to both.
func (f Fields) guards() links {
	if f.Domain == "" && len(f.Skills) == 0 {
		return links{GuardsAll, []string{Everywhere}}
	}
	return links{GuardsDomain, one(f.Domain)}
}

// links returns edges by one predicate.
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
