package schemas

import "slices"

// Kinds of records, as they appear in paths and keys.
const (
	KindSkill          = "skill"
	KindAgent          = "agent"
	KindTool           = "tool"
	KindContextBuilder = "context_builder"
	KindGuardrail      = "guardrail"
	KindTemplate       = "template"
)

// Kinds returns all kinds of records.
func Kinds() []string {
	return []string{KindSkill, KindAgent, KindTool, KindContextBuilder, KindGuardrail, KindTemplate}
}

// PublishableKinds returns the kinds of records that can be published. A RecordSearch without kinds searches them.
func PublishableKinds() []string { return []string{KindSkill, KindAgent, KindTool} }

// SearchableKinds returns the kinds of records that searches find.
func SearchableKinds() []string { return append(PublishableKinds(), KindGuardrail, KindTemplate) }

// segments returns the minimum number of dotted segments in an id of the kind.
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

// KnownKind reports whether kind is a declared kind.
func KnownKind(kind string) bool { return slices.Contains(Kinds(), kind) }

var wrappers = map[string]string{
	KindSkill: "record", KindAgent: "agent_data", KindTool: "tool_data",
	KindContextBuilder: "cb_data", KindGuardrail: "guardrail_data", KindTemplate: "template_data",
}

// Wrapper returns the member of the kind's registration that holds the record.
func Wrapper(kind string) string { return wrappers[kind] }
