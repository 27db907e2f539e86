package schemas

import "slices"

// The kinds of records, as paths and keys spell them.
const (
	KindSkill          = "skill"
	KindAgent          = "agent"
	KindTool           = "tool"
	KindContextBuilder = "context_builder"
	KindGuardrail      = "guardrail"
	KindTemplate       = "template"
)

// Kinds are all kinds of records.
func Kinds() []string {
	return []string{KindSkill, KindAgent, KindTool, KindContextBuilder, KindGuardrail, KindTemplate}
}

// segments is the least number of dotted segments in an id of the kind.
func segments(kind string) int {
	switch kind {
	case KindSkill:
		return 2
	case KindTool:
		return 3
	default:
		return 1
	}
}

// KnownKind reports whether there are records of the kind.
func KnownKind(kind string) bool { return slices.Contains(Kinds(), kind) }

// Active reports whether a record with the status is found by search and
// listing: those that say nothing are.
func Active(status string) bool { return status == "" || status == "active" }
