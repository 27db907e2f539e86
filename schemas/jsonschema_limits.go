package schemas

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// segment is an ECMA-262 regular expression that matches one segment of an id: no
// dots, white space or control characters.
const segment = `[^.\s\x00-\x1f\x7f-\x9f]+`

// limits adds the constraints that Go types do not express. Keys are property
// names, Type.property where a name is ambiguous, or the name of a type.
var limits = map[string]func(*jsonschema.Schema){
	"tenant_id":          tenantID,
	"skill_id":           dotted(2),
	"tool_id":            dotted(3),
	"agent_id":           dotted(1),
	"context_builder_id": dotted(1),
	"guardrail_id":       dotted(1),
	"template_id":        dotted(1),

	"skill_ids":           eachDotted,
	"tool_ids":            eachDotted,
	"context_builder_ids": eachDotted,
	"guardrail_ids":       eachDotted,

	"Tag.request_id":       length(1, maxID),
	"TagKey.request_id":    length(1, maxID),
	"Tag.flow":             length(0, maxID),
	"Tag.tags":             members(maxItems, &jsonschema.Schema{MaxLength: new(maxID)}),
	"TagWrite.ttl_seconds": between(1, 0),

	"Unregister.kind": oneOfKinds,
	"Unregister.id":   dotted(1),

	"ReferrerQuery.kind":   oneOfKinds,
	"ReferrerQuery.id":     dotted(1),
	"ReferrerQuery.limit":  withDefault(DefaultLimit, between(1, 1000)),
	"ReferrerQuery.cursor": length(0, maxCursor),

	"RecordKey.kind":     oneOfKinds,
	"RecordKey.id":       dotted(1),
	"RecordKey.scope":    anyScope,
	"RecordAt.revision":  length(0, MaxToken),
	"AgentKey.id":        dotted(1),
	"AgentKey.scope":     anyScope,
	"RecordQuery.kind":   oneOfKinds,
	"RecordQuery.scope":  anyScope,
	"RecordQuery.domain": length(0, maxID),
	"RecordQuery.status": length(0, maxID),
	"RecordQuery.prefix": length(0, maxID),
	"RecordQuery.labels": labelSelector,
	"Watch.labels":       labelSelector,
	"RecordQuery.cursor": length(0, maxCursor),
	"RecordQuery.limit":  withDefault(DefaultLimit, between(1, 1000)),
	"ServerQuery.limit":  withDefault(DefaultLimit, between(1, 100)),
	"ServerQuery.search": length(0, maxID),
	"Watch.scope":        anyScope,
	"Watch.kind":         anyKind,
	"Watch.prefix":       length(0, maxID),
	"Watch.after":        length(0, MaxToken),
	"PutRecord.kind":     oneOfKinds,
	"PutRecord.id":       dotted(1),
	"PutRecord.record":   isObject,
	"PutRecords.records": items(0, MaxBulk),
	"BulkRecord.kind":    oneOfKinds,
	"BulkRecord.id":      orEmptyID,
	"BulkRecord.record":  isObject,

	"SkillQuery":          orElse("skill_id", "query"),
	"SkillQuery.skill_id": orEmpty,
	"Skill.template_id":   orEmpty,
	"SkillQuery.top_k":    withDefault(DefaultTopK, between(1, 100)),
	"SkillQuery.query":    length(0, maxQuery),
	"SkillQuery.search":   method,
	"AgentQuery.query":    length(1, maxQuery),
	"AgentQuery.search":   method,
	"ContextQuery.context_types": func(s *jsonschema.Schema) {
		items(0, maxItems)(s)
		length(0, maxID)(s.Items)
	},
	"ToolsQuery.tool_ids":       items(1, maxItems),
	"ToolClassQuery.tool_class": length(1, maxID),
	"ToolClassQuery.provider":   length(0, maxID),
	"ListQuery.domain":          length(0, maxID),
	"ListQuery.provider":        length(0, maxID),
	"ListQuery.tool_class":      length(0, maxID),
	"ListQuery.cursor":          length(0, maxCursor),
	"ListQuery.limit":           withDefault(DefaultLimit, between(1, 1000)),
	"Explanation.scope":         enum(ScopeTenant, ScopeGlobal),

	"Analysis.query":   length(0, maxQuery),
	"Analysis.context": length(1, 0),
	"RunQuery.state":   enum("", RunRunning, RunDone, RunFailed, RunCanceled),
	"RunQuery.limit":   withDefault(DefaultLimit, between(1, 1000)),
	"RunQuery.cursor":  length(0, maxCursor),
	"RunSummary.state": enum(RunRunning, RunDone, RunFailed, RunCanceled),

	"Analysis.target":     enum(TargetH, TargetLegacy),
	"Analysis.mode":       enum(ModeStandard, ModeBroad),
	"Analysis.id":         length(0, maxID),
	"Analysis.request_id": length(0, maxID),
	"Analysis.include": func(s *jsonschema.Schema) {
		items(0, maxIncludes)(s)
		enum(EventUsage, EventProvenance, EventSuggestions)(s.Items)
	},
	"Analysis.on_disconnect": enum("", OnDisconnectCancel, OnDisconnectContinue),
	"Analysis.calls":         items(0, maxToolCalls),
	"ToolCall.name":          enum(ToolInspectSchema, ToolComputeStats),
	"ToolCall.input":         isObject,
	"Prompt.m":               members(maxHistoryMessages, &jsonschema.Schema{Pattern: "^[0-9]+$"}),
	"Prompt.t":               length(0, maxID),
	"Utterance.r":            enum(0, 1),
	"Utterance.c":            length(0, maxHistoryBytes),

	"Filter":        strict,
	"Filter.domain": length(0, maxID),
	"Filter.status": enum("", StatusActive, StatusDeprecated),
	"Filter.labels": labels,
	"Filter.capabilities": func(s *jsonschema.Schema) {
		items(0, maxLabels)(s)
		length(1, maxID)(s.Items)
	},
	"RecordSearch.query": length(1, maxQuery),
	"RecordSearch.kinds": func(s *jsonschema.Schema) {
		items(0, len(SearchableKinds()))(s)
		enum(KindSkill, KindAgent, KindTool)(s.Items)
	},
	"RecordSearch.scope":  anyScope,
	"RecordSearch.search": method,
	"RecordSearch.limit":  withDefault(DefaultSearchLimit, between(1, maxSearchLimit)),
	"RecordSearch.offset": between(0, MaxSearchOffset),
	"AnyOf.ids":           values,
	"AnyOf.display_names": values,
	"AnyOf.versions":      values,
	"AnyOf.domains":       values,
	"AnyOf.statuses":      values,
	"AnyOf.capabilities":  values,
	"AnyOf.labels": func(s *jsonschema.Schema) {
		items(0, maxLabels)(s)
		values(s.Items)
	},

	"ARDSearch.federation":   enum("", FederationAuto, FederationReferrals, FederationNone),
	"ARDSearch.pageSize":     withDefault(DefaultSearchLimit, between(1, maxSearchLimit)),
	"ARDSearch.pageToken":    length(0, maxCursor),
	"ARDQuery.text":          length(1, maxQuery),
	"ARDListQuery.pageSize":  between(1, maxSearchLimit),
	"ARDListQuery.pageToken": length(0, maxCursor),

	"RecordHit.record":     isObject,
	"Metadata.version":     version,
	"Metadata.labels":      labels,
	"Metadata.status":      length(0, maxID),
	"Metadata.replaced_by": orEmptyID,
	"Metadata.source":      length(0, maxSource),
	"Skill.instructions":   length(0, maxInstructions),
	"Skill.license":        length(0, maxID),
	"Skill.resources":      items(0, MaxResources),
	"Resource":             notBoth("text", "data"),
	"Resource.path":        length(1, maxID),
	"Resource.media_type":  length(0, maxID),
	"Resource.sha256":      digest,
	"Resource.size":        between(0, MaxResourceBytes),

	"Skill.capabilities":   items(0, maxItems),
	"Agent.capabilities":   items(0, maxItems),
	"Tool.capabilities":    items(0, maxItems),
	"context_descriptions": items(0, maxItems),
	"example_queries":      items(0, maxItems),

	"ServerEntry.server":  isObject,
	"ServerQuery.version": enum("", "latest"),
	"ServerQuery.cursor":  length(0, maxCursor),
	"ServerQuery.updated_since": func(s *jsonschema.Schema) {
		s.Pattern = `^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?` +
			`(Z|[+-]([01][0-9]|2[0-4]):([0-5][0-9]|60)))?$`
	},
	"ServerRef.serverName":  length(1, maxID),
	"ServerVersion.version": length(1, maxID),
	"RPCRequest.method":     length(1, maxID),
	"RPCRequest.id": func(s *jsonschema.Schema) {
		stringOrInteger(s)
		between(-1e15+1, 1e15-1)(s.OneOf[1])
	},
	"RPCRequest.params":  isObject,
	"RPCRequest.jsonrpc": enum("2.0"),
	"RPCResponse.id":     stringOrInteger,
	"RPCResponse.result": isObject,
	"RPCResponse.error":  isObject,
	"AgentInterface": func(s *jsonschema.Schema) { // the URL of another binding may be any text
		url := &jsonschema.Schema{}
		webURL(url)
		bindings := &jsonschema.Schema{Enum: []any{"JSONRPC", "HTTP+JSON"}}
		s.If = &jsonschema.Schema{Required: []string{"protocolBinding"}, Properties: map[string]*jsonschema.Schema{"protocolBinding": bindings}}
		s.Then = &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"url": url}}
	},
	"AgentCard": func(s *jsonschema.Schema) {
		nonEmpty := &jsonschema.Schema{MinItems: new(1)}
		s.AnyOf = []*jsonschema.Schema{
			{Required: []string{"url"}, Properties: map[string]*jsonschema.Schema{"url": {MinLength: new(1)}}},
			{Required: []string{"supportedInterfaces"}, Properties: map[string]*jsonschema.Schema{"supportedInterfaces": nonEmpty}},
		}
	},
	"AgentCard.name":                 length(1, maxID),
	"AgentCard.description":          length(1, maxCardText),
	"AgentCard.version":              length(1, maxID),
	"AgentCard.url":                  optionalURL,
	"AgentCard.documentationUrl":     optionalURL,
	"AgentCard.iconUrl":              optionalURL,
	"AgentCard.supportedInterfaces":  items(0, maxCardItems),
	"AgentCard.defaultInputModes":    shortTexts,
	"AgentCard.defaultOutputModes":   shortTexts,
	"AgentCard.skills":               items(0, maxCardSkills),
	"AgentInterface.url":             length(1, maxCardURL),
	"AgentInterface.protocolBinding": length(1, maxID),
	"AgentInterface.protocolVersion": length(1, maxID),
	"AgentProvider.organization":     length(1, maxID),
	"AgentProvider.url":              optionalURL,
	"AgentSkill.id":                  length(1, maxID),
	"AgentSkill.name":                length(1, maxID),
	"AgentSkill.description":         length(1, maxCardText),
	"AgentSkill.tags":                shortTexts,
	"AgentSkill.examples":            shortTexts,

	"AgentMessage.tenant":                    length(0, maxID),
	"AgentTask.tenant":                       length(0, maxID),
	"AgentConfiguration.acceptedOutputModes": items(0, maxPartItems),
	"AgentConfiguration.historyLength":       between(0, 0),
	"AgentContent.messageId":                 length(1, maxID),
	"AgentContent.contextId":                 length(0, maxID),
	"AgentContent.taskId":                    length(0, maxID),
	"AgentContent.role":                      enum(roleUser),
	"AgentContent.parts":                     items(1, maxParts),
	"AgentContent.extensions":                items(0, maxPartItems),
	"AgentContent.referenceTaskIds":          items(0, maxPartItems),
	"AgentPart": func(s *jsonschema.Schema) {
		for _, name := range []string{"text", "raw", "data", "url"} {
			s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{name}})
		}
	},
	"AgentPart.raw":       func(s *jsonschema.Schema) { s.Type = "string" },
	"AgentPart.filename":  length(0, maxID),
	"AgentPart.mediaType": length(0, maxID),

	"SkillPackage.template": isObject,
	"ToolUse.input":         isObject,
	"ToolResult.result":     isObject,
	"Health.status":         enum(StatusOK, StatusDegraded, StatusDown),
}

// optional lists the members that requests may omit although replies always
// contain them.
var optional = map[string]bool{
	"Tag.flow": true, "Tag.tags": true, "AgentCard.skills": true,
	"Analysis.query": true, "Prompt.m": true, "Utterance.r": true, "Utterance.c": true,
}

func dotted(segments int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		length(1, maxID)(s)
		s.Pattern = fmt.Sprintf(`^%s(\.%s){%d,}$`, segment, segment, segments-1)
		if segments == 1 {
			s.Pattern = fmt.Sprintf(`^%s(\.%s)*$`, segment, segment)
		}
	}
}

// orEmpty also allows the empty string.
func orEmpty(s *jsonschema.Schema) {
	s.MinLength = nil
	s.Pattern = "^$|" + s.Pattern
}

func orEmptyID(s *jsonschema.Schema) {
	dotted(1)(s)
	orEmpty(s)
}

func version(s *jsonschema.Schema) {
	length(0, maxID)(s)
	s.Pattern = "^$|" + versionPattern
}

func labels(s *jsonschema.Schema) {
	members(maxLabels, &jsonschema.Schema{MaxLength: new(maxID), Pattern: labelPattern})(s)
	length(0, maxID)(s.AdditionalProperties)
	s.AdditionalProperties.Pattern = `^[^,\x00-\x1f\x7f-\x9f]*$`
}

// values constrains a list of values to compare with.
func values(s *jsonschema.Schema) {
	items(0, maxLabels)(s)
	length(1, maxValue)(s.Items)
}

// webURL requires the beginning of an absolute URL. A pattern cannot express the other rules.
func webURL(s *jsonschema.Schema) {
	length(1, maxCardURL)(s)
	s.Pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]"
}

func optionalURL(s *jsonschema.Schema) {
	length(0, maxCardURL)(s)
	s.Pattern = "^$|^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]"
}

// shortTexts bounds the lists of an agent card.
func shortTexts(s *jsonschema.Schema) {
	items(0, maxCardItems)(s)
	length(0, maxCardURL)(s.Items)
}

// labelSelector matches name=value pairs, separated by commas, or nothing.
func labelSelector(s *jsonschema.Schema) {
	pair := strings.Trim(labelPattern, "^$") + `=[^,\x00-\x1f\x7f-\x9f]*`
	s.Pattern = "^(" + pair + "(," + pair + ")*)?$"
}

func digest(s *jsonschema.Schema) { s.Pattern = "^$|^[0-9a-f]{64}$" }

func eachDotted(s *jsonschema.Schema) {
	dotted(1)(s.Items)
	items(0, maxItems)(s)
}

func tenantID(s *jsonschema.Schema) {
	dotted(1)(s)
	s.Not = &jsonschema.Schema{Const: new(any(GlobalTenant))}
}

// anyScope also allows the empty string, as an absent scope.
func anyScope(s *jsonschema.Schema) { enum("", ScopeTenant, ScopeGlobal)(s) }

func isObject(s *jsonschema.Schema) { s.Type = "object" }

// stringOrInteger allows both types, without a list of types, which client generators do not support.
func stringOrInteger(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}
}

func oneOfKinds(s *jsonschema.Schema) {
	for _, kind := range Kinds() {
		s.Enum = append(s.Enum, kind)
	}
}

// anyKind also allows the empty string, as an absent kind.
func anyKind(s *jsonschema.Schema) {
	oneOfKinds(s)
	s.Enum = append(s.Enum, "")
}

// length bounds the length of a string in characters; a maximum of 0 means no limit.
func length(minimum, maximum int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		if minimum > 0 {
			s.MinLength = &minimum
		}
		if maximum > 0 {
			s.MaxLength = &maximum
		}
	}
}

// between bounds a number; a maximum of 0 means no limit.
func between(minimum, maximum float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.Minimum = &minimum
		if maximum > 0 {
			s.Maximum = &maximum
		}
	}
}

func items(minimum, maximum int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MinItems, s.MaxItems = &minimum, &maximum }
}

// members bounds the number of members of an object and constrains their names.
func members(maximum int, names *jsonschema.Schema) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MaxProperties, s.PropertyNames = &maximum, names }
}

func enum(values ...any) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Enum = values }
}

func method(s *jsonschema.Schema) {
	enum(SearchHybrid, SearchText, SearchVector)(s)
	s.Default = strconv.AppendQuote(nil, SearchHybrid)
}

func withDefault(n int, limit func(*jsonschema.Schema)) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		limit(s)
		s.Default = strconv.AppendInt(nil, int64(n), 10)
	}
}

// strict excludes unknown members.
func strict(s *jsonschema.Schema) {
	names := make([]any, len(s.PropertyOrder))
	for i, name := range s.PropertyOrder {
		names[i] = name
	}
	s.PropertyNames = &jsonschema.Schema{Enum: names}
}

// notBoth excludes objects with all of the members.
func notBoth(names ...string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Not = &jsonschema.Schema{Required: names} }
}

// orElse excludes objects with neither member, without alternatives of required members, which client
// generators do not support.
func orElse(name, other string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.If = &jsonschema.Schema{Not: &jsonschema.Schema{Required: []string{name}}}
		s.Then = &jsonschema.Schema{Required: []string{other}}
	}
}
