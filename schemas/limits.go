package schemas

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// limit is a constraint on a field that its Go type does not express.
type limit struct {
	describe func(*jsonschema.Schema)
	// check adds an invalid value, which is not absent, to c. nil: the Validate of the type checks the field, or
	// only responses have it.
	check func(c *check, field string, v reflect.Value)
}

// limits are the constraints of fields, by Type.field or else by field, and of types. They are stated only here:
// JSON Schemas describe them, and validate checks them.
var limits = map[string]limit{
	"tenant_id":          tenantID,
	"skill_id":           dotted(2),
	"tool_id":            dotted(3),
	"agent_id":           dotted(1),
	"context_builder_id": dotted(1),
	"guardrail_id":       dotted(1),
	"template_id":        dotted(1),

	"skill_ids":           list(0, maxItems, dotted(1)),
	"tool_ids":            list(0, maxItems, dotted(1)),
	"context_builder_ids": list(0, maxItems, dotted(1)),
	"guardrail_ids":       list(0, maxItems, dotted(1)),

	"Tag.request_id":       length(1, maxID),
	"TagKey.request_id":    length(1, maxID),
	"Tag.flow":             length(0, maxID),
	"Tag.tags":             tagNames,
	"TagWrite.ttl_seconds": between(1, 0),

	"Unregister.kind": oneOfKinds,
	"Unregister.id":   described(dotted(1)),

	"ReferrerQuery.kind":   oneOfKinds,
	"ReferrerQuery.id":     described(dotted(1)),
	"ReferrerQuery.limit":  withDefault(DefaultLimit, between(1, 1000)),
	"ReferrerQuery.cursor": length(0, maxCursor),

	"RecordKey.kind":     oneOfKinds,
	"RecordKey.id":       described(dotted(1)),
	"RecordKey.scope":    anyScope,
	"RecordAt.revision":  token,
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
	"Watch.after":        token,
	"PutRecord.kind":     oneOfKinds,
	"PutRecord.id":       described(dotted(1)),
	"PutRecord.record":   isObject,
	"PutRecords.records": items(0, MaxBulk),
	"BulkRecord.kind":    oneOfKinds,
	"BulkRecord.id":      orEmpty(dotted(1)),
	"BulkRecord.record":  isObject,

	"SkillQuery":                 {describe: orElse("skill_id", "query")},
	"SkillQuery.skill_id":        orEmpty(dotted(2)),
	"Skill.template_id":          orEmpty(dotted(1)),
	"SkillQuery.top_k":           withDefault(DefaultTopK, between(1, 100)),
	"SkillQuery.query":           length(0, maxQuery),
	"SkillQuery.search":          method(),
	"AgentQuery.query":           length(1, maxQuery),
	"AgentQuery.search":          method(),
	"ContextQuery.context_types": list(0, maxItems, length(0, maxID)),
	"ToolsQuery.tool_ids":        list(1, maxItems, dotted(1)),
	"ToolClassQuery.tool_class":  length(1, maxID),
	"ToolClassQuery.provider":    length(0, maxID),
	"ListQuery.domain":           length(0, maxID),
	"ListQuery.provider":         length(0, maxID),
	"ListQuery.tool_class":       length(0, maxID),
	"ListQuery.cursor":           length(0, maxCursor),
	"ListQuery.limit":            withDefault(DefaultLimit, between(1, 1000)),
	"Explanation.scope":          enum(ScopeTenant, ScopeGlobal),

	"Analysis.query":   described(length(0, maxQuery)),
	"Analysis.context": described(length(1, 0)),
	"RunQuery.state":   enum("", RunRunning, RunDone, RunFailed, RunCanceled),
	"RunQuery.limit":   withDefault(DefaultLimit, between(1, 1000)),
	"RunQuery.cursor":  length(0, maxCursor),
	"RunSummary.state": enum(RunRunning, RunDone, RunFailed, RunCanceled),

	"Analysis.target":        described(enum(TargetH, TargetLegacy)),
	"Analysis.mode":          enum(ModeStandard, ModeBroad),
	"Analysis.id":            length(0, maxID),
	"Analysis.request_id":    length(0, maxID),
	"Analysis.include":       list(0, maxIncludes, enum(EventUsage, EventProvenance, EventSuggestions)),
	"Analysis.on_disconnect": enum("", OnDisconnectCancel, OnDisconnectContinue),
	"Analysis.calls":         items(0, maxToolCalls),
	"ToolCall.name":          enum(ToolInspectSchema, ToolComputeStats),
	"ToolCall.input":         isObject,
	"Prompt.m":               messages,
	"Prompt.t":               length(0, maxID),
	"Utterance.r":            {describe: func(s *jsonschema.Schema) { s.Enum = []any{0, 1} }},
	"Utterance.c":            described(length(0, maxHistoryBytes)),

	"Filter":              {describe: strict},
	"Filter.domain":       length(0, maxID),
	"Filter.status":       enum("", StatusActive, StatusDeprecated),
	"Filter.labels":       labels,
	"Filter.capabilities": list(0, maxLabels, length(1, maxID)),
	"RecordSearch.query":  length(1, maxQuery),
	"RecordSearch.kinds":  list(0, len(SearchableKinds()), enum(KindSkill, KindAgent, KindTool)),
	"RecordSearch.scope":  anyScope,
	"RecordSearch.search": method(),
	"RecordSearch.limit":  withDefault(DefaultSearchLimit, between(1, maxSearchLimit)),
	"RecordSearch.offset": between(0, MaxSearchOffset),
	"AnyOf.ids":           values,
	"AnyOf.display_names": values,
	"AnyOf.versions":      values,
	"AnyOf.domains":       values,
	"AnyOf.statuses":      values,
	"AnyOf.capabilities":  values,
	"AnyOf.labels":        list(0, maxLabels, values),

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
	"Metadata.replaced_by": described(orEmpty(dotted(1))),
	"Metadata.source":      length(0, maxSource),
	"Skill.instructions":   length(0, maxInstructions),
	"Skill.license":        length(0, maxID),
	"Skill.resources":      items(0, MaxResources),
	"Resource":             {describe: notBoth("text", "data")},
	"Resource.path":        resourcePath,
	"Resource.media_type":  length(0, maxID),
	"Resource.sha256":      {describe: func(s *jsonschema.Schema) { s.Pattern = "^$|^[0-9a-f]{64}$" }},
	"Resource.size":        described(between(0, MaxResourceBytes)),

	"Skill.capabilities":   items(0, maxItems),
	"Agent.capabilities":   items(0, maxItems),
	"Tool.capabilities":    items(0, maxItems),
	"context_descriptions": items(0, maxItems),
	"example_queries":      items(0, maxItems),

	"ServerEntry.server":        isObject,
	"ServerQuery.version":       enum("", "latest"),
	"ServerQuery.cursor":        length(0, maxCursor),
	"ServerQuery.updated_since": timestamp,
	"ServerRef.serverName":      length(1, maxID),
	"ServerVersion.version":     length(1, maxID),
	"RPCRequest.method":         length(1, maxID),
	"RPCRequest.id": {describe: func(s *jsonschema.Schema) {
		stringOrInteger(s)
		between(-1e15+1, 1e15-1).describe(s.OneOf[1])
	}},
	"RPCRequest.params":  isObject,
	"RPCRequest.jsonrpc": enum("2.0"),
	"RPCResponse.id":     {describe: stringOrInteger},
	"RPCResponse.result": isObject,
	"RPCResponse.error":  isObject,
	"AgentInterface": {describe: func(s *jsonschema.Schema) { // the URL of another binding may be any text
		url := &jsonschema.Schema{}
		webURL.describe(url)
		bindings := &jsonschema.Schema{Enum: []any{"JSONRPC", "HTTP+JSON"}}
		s.If = &jsonschema.Schema{Required: []string{"protocolBinding"}, Properties: map[string]*jsonschema.Schema{"protocolBinding": bindings}}
		s.Then = &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"url": url}}
	}},
	"AgentCard": {describe: func(s *jsonschema.Schema) {
		nonEmpty := &jsonschema.Schema{MinItems: new(1)}
		s.AnyOf = []*jsonschema.Schema{
			{Required: []string{"url"}, Properties: map[string]*jsonschema.Schema{"url": {MinLength: new(1)}}},
			{Required: []string{"supportedInterfaces"}, Properties: map[string]*jsonschema.Schema{"supportedInterfaces": nonEmpty}},
		}
	}},
	"AgentCard.name":                 length(1, maxID),
	"AgentCard.description":          length(1, maxCardText),
	"AgentCard.version":              length(1, maxID),
	"AgentCard.url":                  orEmpty(webURL),
	"AgentCard.documentationUrl":     orEmpty(webURL),
	"AgentCard.iconUrl":              orEmpty(webURL),
	"AgentCard.supportedInterfaces":  items(0, maxCardItems),
	"AgentCard.defaultInputModes":    shortTexts,
	"AgentCard.defaultOutputModes":   shortTexts,
	"AgentCard.skills":               items(0, maxCardSkills),
	"AgentInterface.url":             length(1, maxCardURL),
	"AgentInterface.protocolBinding": length(1, maxID),
	"AgentInterface.protocolVersion": length(1, maxID),
	"AgentProvider.organization":     length(1, maxID),
	"AgentProvider.url":              orEmpty(webURL),
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
	"AgentPart": {describe: func(s *jsonschema.Schema) {
		for _, name := range []string{"text", "raw", "data", "url"} {
			s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{name}})
		}
	}},
	"AgentPart.raw":       {describe: func(s *jsonschema.Schema) { s.Type = "string" }},
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

// limitOf returns the limit of the field f of t.
func limitOf(t reflect.Type, f reflect.StructField) (l limit, ok bool) {
	name := jsonName(f)
	if l, ok = limits[declaringType(t, f).Name()+"."+name]; !ok {
		l, ok = limits[name]
	}
	return l, ok
}

// described returns a limit that the Validate of the type checks.
func described(l limit) limit { return limit{describe: l.describe} }

// length bounds the length of a string in characters; a maximum of 0 means no limit.
func length(minimum, maximum int) limit {
	return limit{
		func(s *jsonschema.Schema) {
			if minimum > 0 {
				s.MinLength = &minimum
			}
			if maximum > 0 {
				s.MaxLength = &maximum
			}
		},
		func(c *check, field string, v reflect.Value) { c.length(field, v.String(), minimum, maximum) },
	}
}

// segment is an ECMA-262 regular expression that matches one segment of an id: no
// dots, white space or control characters.
const segment = `[^.\s\x00-\x1f\x7f-\x9f]+`

func dotted(segments int) limit {
	return limit{
		func(s *jsonschema.Schema) {
			length(1, maxID).describe(s)
			s.Pattern = fmt.Sprintf(`^%s(\.%s){%d,}$`, segment, segment, segments-1)
			if segments == 1 {
				s.Pattern = fmt.Sprintf(`^%s(\.%s)*$`, segment, segment)
			}
		},
		func(c *check, field string, v reflect.Value) { c.id(field, v.String(), segments) },
	}
}

// orEmpty also allows the empty string, as an absent value.
func orEmpty(l limit) limit {
	return limit{
		func(s *jsonschema.Schema) {
			l.describe(s)
			s.MinLength = nil
			s.Pattern = "^$|" + s.Pattern
		},
		func(c *check, field string, v reflect.Value) {
			if v.Len() > 0 {
				l.check(c, field, v)
			}
		},
	}
}

var tenantID = limit{
	func(s *jsonschema.Schema) {
		dotted(1).describe(s)
		s.Not = &jsonschema.Schema{Const: new(any(GlobalTenant))}
	},
	func(c *check, field string, v reflect.Value) { c.tenant(field, new(v.String())) },
}

var version = limit{
	func(s *jsonschema.Schema) {
		length(0, maxID).describe(s)
		s.Pattern = "^$|" + versionPattern
	},
	func(c *check, field string, v reflect.Value) {
		if c.length(field, v.String(), 0, maxID); v.Len() > 0 && !validVersion.MatchString(v.String()) {
			c.fail(field, "expected a semantic version such as 1.2.0, got %.100q", v.String())
		}
	},
}

var labels = limit{
	func(s *jsonschema.Schema) {
		members(s, maxLabels, &jsonschema.Schema{MaxLength: new(maxID), Pattern: labelPattern})
		length(0, maxID).describe(s.AdditionalProperties)
		s.AdditionalProperties.Pattern = `^[^,\x00-\x1f\x7f-\x9f]*$`
	},
	func(c *check, field string, v reflect.Value) {
		checkLabels(c, field, v.Interface().(map[string]string))
	},
}

// labelSelector matches name=value pairs, separated by commas, or nothing.
var labelSelector = limit{
	func(s *jsonschema.Schema) {
		pair := strings.Trim(labelPattern, "^$") + `=[^,\x00-\x1f\x7f-\x9f]*`
		s.Pattern = "^(" + pair + "(," + pair + ")*)?$"
	},
	func(c *check, field string, v reflect.Value) {
		parsed, err := ParseLabels(v.String())
		if err != nil {
			c.fail(field, "%v", err)
		}
		checkLabels(c, field, parsed)
	},
}

// token is a consistency token.
var token = limit{
	length(0, MaxToken).describe,
	func(c *check, field string, v reflect.Value) {
		if _, err := ParseConsistencyToken(v.String()); err != nil {
			c.fail(field, "%v", err)
		}
	},
}

var timestamp = limit{
	func(s *jsonschema.Schema) {
		s.Pattern = `^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?` +
			`(Z|[+-]([01][0-9]|2[0-4]):([0-5][0-9]|60)))?$`
	},
	func(c *check, field string, v reflect.Value) {
		if _, err := time.Parse(time.RFC3339, v.String()); err != nil {
			c.fail(field, "expected a time such as 2026-11-24T12:00:00Z, got %.100q", v.String())
		}
	},
}

// webURL requires an absolute URL of HTTP, whose beginning a pattern can express.
var webURL = limit{
	func(s *jsonschema.Schema) {
		length(1, maxCardURL).describe(s)
		s.Pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]"
	},
	func(c *check, field string, v reflect.Value) { c.webURL(field, v.String()) },
}

var resourcePath = limit{
	length(1, maxID).describe,
	func(c *check, field string, v reflect.Value) { checkResourcePath(c, field, v.String()) },
}

var isObject = limit{
	func(s *jsonschema.Schema) { s.Type = "object" },
	func(c *check, field string, v reflect.Value) {
		if kind := jsontext.Value(v.Bytes()).Kind(); v.Len() == 0 {
			c.fail(field, "required: an object")
		} else if kind != jsontext.KindBeginObject {
			c.fail(field, "expected an object, got %s", kindName(kind))
		}
	},
}

// stringOrInteger allows both types, without a list of types, which client generators do not support.
func stringOrInteger(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}
}

var (
	oneOfKinds = enum(Kinds()...)
	anyKind    = enum(append(Kinds(), "")...)                 // the empty string is an absent kind
	anyScope   = enum("", ScopeTenant, ScopeGlobal)           // the empty string is an absent scope
	values     = list(0, maxLabels, length(1, maxValue))      // to compare with
	shortTexts = list(0, maxCardItems, length(0, maxCardURL)) // of an agent card
)

// between bounds a number; a maximum of 0 means no limit.
func between(minimum, maximum int) limit {
	return limit{
		func(s *jsonschema.Schema) {
			s.Minimum = new(float64(minimum))
			if maximum > 0 {
				s.Maximum = new(float64(maximum))
			}
		},
		func(c *check, field string, v reflect.Value) {
			switch n := int(v.Int()); {
			case maximum == 0 && n < minimum:
				c.fail(field, "expected an integer of at least %d, got %d", minimum, n)
			case n < minimum || maximum > 0 && n > maximum:
				c.fail(field, "expected an integer from %d to %d, got %d", minimum, maximum, n)
			}
		},
	}
}

func items(minimum, maximum int) limit {
	return limit{
		func(s *jsonschema.Schema) { s.MinItems, s.MaxItems = &minimum, &maximum },
		func(c *check, field string, v reflect.Value) { c.items(field, v.Len(), minimum, maximum) },
	}
}

// list bounds the number of items, each of which has the limit.
func list(minimum, maximum int, each limit) limit {
	return limit{
		func(s *jsonschema.Schema) {
			items(minimum, maximum).describe(s)
			each.describe(s.Items)
		},
		func(c *check, field string, v reflect.Value) {
			if !c.items(field, v.Len(), minimum, maximum) {
				return
			}
			for i := range v.Len() {
				each.check(c, fmt.Sprintf("%s[%d]", field, i), v.Index(i))
			}
		},
	}
}

// members bounds the number of members of an object and constrains their names.
func members(s *jsonschema.Schema, maximum int, names *jsonschema.Schema) {
	s.MaxProperties, s.PropertyNames = &maximum, names
}

// messages are those of a history.
var messages = limit{describe: func(s *jsonschema.Schema) {
	members(s, maxHistoryMessages, &jsonschema.Schema{Pattern: "^[0-9]+$"})
}}

var tagNames = limit{
	func(s *jsonschema.Schema) { members(s, maxItems, &jsonschema.Schema{MaxLength: new(maxID)}) },
	func(c *check, field string, v reflect.Value) {
		c.items(field, v.Len(), 0, maxItems)
		for name := range v.Interface().(map[string]jsontext.Value) {
			c.length(field+"."+truncateValue(name), name, 0, maxID)
		}
	},
}

// enum allows the values; an empty string is an absent value.
func enum(values ...string) limit {
	expected := strings.Join(slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" }), ", ")
	if last := strings.LastIndex(expected, ", "); strings.Count(expected, ", ") > 3 {
		expected = "one of " + expected
	} else if last >= 0 {
		expected = expected[:last] + " or " + expected[last+2:]
	}
	return limit{
		func(s *jsonschema.Schema) {
			for _, value := range values {
				s.Enum = append(s.Enum, value)
			}
		},
		func(c *check, field string, v reflect.Value) {
			if !slices.Contains(values, v.String()) {
				c.fail(field, "expected %s, got %.100q", expected, v.String())
			}
		},
	}
}

func method() limit {
	allowed := enum(SearchHybrid, SearchText, SearchVector)
	return limit{func(s *jsonschema.Schema) {
		allowed.describe(s)
		s.Default = strconv.AppendQuote(nil, SearchHybrid)
	}, allowed.check}
}

func withDefault(n int, l limit) limit {
	return limit{func(s *jsonschema.Schema) {
		l.describe(s)
		s.Default = strconv.AppendInt(nil, int64(n), 10)
	}, l.check}
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
