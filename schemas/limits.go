package schemas

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
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
// JSON Schemas describe them, and Validate checks them.
var limits = func() map[string]limit {
	byName := map[string]limit{}
	for _, row := range limitRows {
		for name := range strings.FieldsSeq(row.names) {
			byName[name] = row.limit
		}
	}
	return byName
}()

var limitRows = []struct {
	limit
	names string
}{
	{tenantID, "tenant_id"},
	{dotted(2), "skill_id"},
	{dotted(3), "tool_id"},
	{dotted(1), "agent_id context_builder_id guardrail_id template_id AgentKey.id"},
	{list(0, maxItems, dotted(1)), "skill_ids tool_ids context_builder_ids guardrail_ids"},
	{length(1, maxID), "" +
		"Tag.request_id TagKey.request_id ToolClassQuery.tool_class ServerRef.serverName " +
		"ServerVersion.version RPCRequest.method AgentCard.name AgentCard.version " +
		"AgentInterface.protocolBinding AgentInterface.protocolVersion AgentProvider.organization " +
		"AgentSkill.id AgentSkill.name AgentContent.messageId"},
	{length(0, maxID), "" +
		"Tag.flow RecordQuery.domain RecordQuery.status RecordQuery.prefix ServerQuery.search Watch.prefix " +
		"ToolClassQuery.provider ListQuery.domain ListQuery.provider ListQuery.tool_class Analysis.id " +
		"Analysis.request_id Prompt.t Filter.domain Metadata.status Skill.license Resource.media_type " +
		"RunQuery.user RunQuery.model AgentMessage.tenant AgentContent.contextId AgentContent.taskId AgentPart.filename " +
		"AgentPart.mediaType TenantQuery.prefix"},
	{tagNames, "Tag.tags"},
	{between(1, 0), "TagWrite.ttl_seconds"},
	{enum(Kinds()...), "" +
		"Unregister.kind ReferrerQuery.kind RecordKey.kind RecordQuery.kind PutRecord.kind BulkRecord.kind AliasKey.kind"},
	{described(dotted(1)), "Unregister.id ReferrerQuery.id RecordKey.id PutRecord.id AliasKey.id"},
	{withDefault(DefaultLimit, between(1, 1000)), "" +
		"ReferrerQuery.limit RecordQuery.limit ListQuery.limit RunQuery.limit TenantQuery.limit TagQuery.limit " +
		"AuditQuery.limit"},
	{length(0, maxCursor), "" +
		"ReferrerQuery.cursor RecordQuery.cursor ListQuery.cursor RunQuery.cursor TagQuery.cursor ARDSearch.pageToken " +
		"ARDListQuery.pageToken ServerQuery.cursor TenantQuery.cursor AuditQuery.cursor"},
	{enum("", ScopeTenant, ScopeGlobal), "RecordKey.scope AgentKey.scope RecordQuery.scope Watch.scope"},
	{enum("", ScopeBoth), "SkillQuery.scope AgentQuery.scope"},
	{enum("", ScopeTenant, ScopeGlobal, ScopeBoth), "RecordSearch.scope"},
	{token, "RecordAt.revision Watch.after AliasTarget.revision"},
	{aliasName, "AliasKey.name"},
	{versionOrAlias, "AliasTarget.version"},
	{labelSelector, "RecordQuery.labels Watch.labels"},
	{withDefault(DefaultLimit, between(1, 100)), "ServerQuery.limit"},
	{enum(append(Kinds(), "")...), "Watch.kind"},
	{isObject, "" +
		"PutRecord.record BulkRecord.record ToolCall.input RecordHit.record ServerEntry.server " +
		"RPCRequest.params RPCResponse.result RPCResponse.error SkillPackage.template ToolUse.input " +
		"ToolResult.result"},
	{items(0, MaxBulk), "PutRecords.records"},
	{orEmpty(dotted(1)), "BulkRecord.id Skill.template_id TemplateQuery.template_id"},
	{limit{describe: orElse("skill_id", "query")}, "SkillQuery"},
	{orEmpty(dotted(2)), "SkillQuery.skill_id TemplateQuery.skill_id"},
	{limit{describe: orElse("skill_id", "template_id")}, "TemplateQuery"},
	{variableValues, "TemplateQuery.variables"},
	{length(0, maxTemplateBody), "Template.body"},
	{items(0, maxVariables), "Template.variables"},
	{variableName, "TemplateVariable.name"},
	{enum("", VariableString, VariableNumber, VariableInteger, VariableBoolean), "TemplateVariable.type"},
	{withDefault(DefaultTopK, between(1, 100)), "SkillQuery.top_k"},
	{length(0, maxQuery), "SkillQuery.query"},
	{withDefault(SearchHybrid, enum(SearchHybrid, SearchText, SearchVector)), "" +
		"SkillQuery.search AgentQuery.search RecordSearch.search"},
	{length(1, maxQuery), "AgentQuery.query RecordSearch.query ARDQuery.text"},
	{list(0, maxItems, length(0, maxID)), "ContextQuery.context_types"},
	{list(1, maxItems, dotted(1)), "ToolsQuery.tool_ids"},
	{enum(ScopeTenant, ScopeGlobal), "Explanation.scope"},
	{described(length(0, maxQuery)), "Analysis.query"},
	{limit{describe: func(s *jsonschema.Schema) { // without a union, which client generators turn into a type of its own
		length(1, 0).describe(s)
		s.Type, s.Not = "", &jsonschema.Schema{Types: []string{"null", "boolean", "number"}}
	}}, "Analysis.context"},
	{limit{describe: func(s *jsonschema.Schema) {
		s.Type, s.Not = "", &jsonschema.Schema{Types: []string{"boolean", "number", "string"}}
		s.Items = &jsonschema.Schema{Type: "object", Required: []string{"role"}, Properties: map[string]*jsonschema.Schema{
			"role": {Enum: []any{"user", "assistant"}}, "content": {Type: "string"}}}
		s.MaxItems = new(maxHistoryMessages)
	}}, "Prompt"},
	{enum("", RunRunning, RunDone, RunFailed, RunCanceled), "RunQuery.state"},
	{enum(RunRunning, RunDone, RunFailed, RunCanceled), "RunSummary.state"},
	{described(enum(TargetH, TargetLegacy)), "Analysis.target"},
	{enum(ModeStandard, ModeBroad), "Analysis.mode"},
	{list(0, maxIncludes, enum(EventUsage, EventProvenance, EventSuggestions)), "Analysis.include"},
	{enum("", OnDisconnectCancel, OnDisconnectContinue), "Analysis.on_disconnect"},
	{items(0, maxToolCalls), "Analysis.calls"},
	{enum(ToolInspectSchema, ToolComputeStats), "ToolCall.name"},
	{limit{describe: func(s *jsonschema.Schema) {
		members(s, maxHistoryMessages, &jsonschema.Schema{Pattern: "^[0-9]+$"})
	}}, "Prompt.m"},
	{limit{describe: func(s *jsonschema.Schema) { s.Enum = []any{0, 1} }}, "Utterance.r"},
	{described(length(0, maxHistoryBytes)), "Utterance.c"},
	{limit{describe: strict}, "Filter"},
	{enum("", StatusActive, StatusDeprecated), "Filter.status"},
	{labels, "Filter.labels Metadata.labels"},
	{list(0, maxLabels, length(1, maxID)), "Filter.capabilities"},
	{list(0, len(SearchableKinds()), enum(SearchableKinds()...)), "RecordSearch.kinds"},
	{withDefault(DefaultSearchLimit, between(1, maxSearchLimit)), "RecordSearch.limit ARDSearch.pageSize"},
	{between(0, MaxSearchOffset), "RecordSearch.offset"},
	{values, "AnyOf.ids AnyOf.display_names AnyOf.versions AnyOf.domains AnyOf.statuses AnyOf.capabilities"},
	{list(0, maxLabels, values), "AnyOf.labels"},
	{enum("", FederationAuto, FederationReferrals, FederationNone), "ARDSearch.federation"},
	{between(1, maxSearchLimit), "ARDListQuery.pageSize"},
	{version, "Metadata.version"},
	{described(orEmpty(dotted(1))), "Metadata.replaced_by"},
	{length(0, maxSource), "Metadata.source"},
	{length(0, maxInstructions), "Skill.instructions"},
	{items(0, MaxResources), "Skill.resources"},
	{limit{describe: func(s *jsonschema.Schema) { s.Not = &jsonschema.Schema{Required: []string{"text", "data"}} }},
		"Resource"},
	{resourcePath, "Resource.path"},
	{limit{describe: func(s *jsonschema.Schema) { s.Pattern = "^$|^[0-9a-f]{64}$" }}, "Resource.sha256"},
	{described(between(0, MaxResourceBytes)), "Resource.size"},
	{items(0, maxItems), "" +
		"Skill.capabilities Agent.capabilities Tool.capabilities context_descriptions example_queries"},
	{enum("", "latest"), "ServerQuery.version"},
	{timestamp, "ServerQuery.updated_since RunQuery.since AuditQuery.since AuditQuery.until"},
	{enum(append(Kinds(), KindKey, "")...), "AuditQuery.kind"},
	{enum(append(Actions(), "")...), "AuditQuery.action"},
	{length(0, maxID), "AuditQuery.id AuditQuery.actor"},
	{limit{describe: func(s *jsonschema.Schema) {
		stringOrInteger(s)
		between(-1e15+1, 1e15-1).describe(s.OneOf[1])
	}}, "RPCRequest.id"},
	{enum("2.0"), "RPCRequest.jsonrpc"},
	{limit{describe: stringOrInteger}, "RPCResponse.id"},
	{limit{describe: func(s *jsonschema.Schema) { // the URL of another binding may be any text
		url := &jsonschema.Schema{}
		webURL.describe(url)
		bindings := &jsonschema.Schema{Enum: []any{"JSONRPC", "HTTP+JSON"}}
		s.If = &jsonschema.Schema{Required: []string{"protocolBinding"},
			Properties: map[string]*jsonschema.Schema{"protocolBinding": bindings}}
		s.Then = &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"url": url}}
	}}, "AgentInterface"},
	{limit{describe: func(s *jsonschema.Schema) {
		nonEmpty := &jsonschema.Schema{MinItems: new(1)}
		s.AnyOf = []*jsonschema.Schema{
			{Required: []string{"url"}, Properties: map[string]*jsonschema.Schema{"url": {MinLength: new(1)}}},
			{Required: []string{"supportedInterfaces"},
				Properties: map[string]*jsonschema.Schema{"supportedInterfaces": nonEmpty}},
		}
	}}, "AgentCard"},
	{length(1, maxCardText), "AgentCard.description AgentSkill.description"},
	{orEmpty(webURL), "AgentCard.url AgentCard.documentationUrl AgentCard.iconUrl AgentProvider.url"},
	{items(0, maxCardItems), "AgentCard.supportedInterfaces"},
	{shortTexts, "AgentCard.defaultInputModes AgentCard.defaultOutputModes AgentSkill.tags AgentSkill.examples"},
	{items(0, maxCardSkills), "AgentCard.skills"},
	{length(1, maxCardURL), "AgentInterface.url"},
	{items(0, maxPartItems), "" +
		"AgentConfiguration.acceptedOutputModes AgentContent.extensions AgentContent.referenceTaskIds"},
	{between(0, 0), "AgentConfiguration.historyLength"},
	{enum(roleUser), "AgentContent.role"},
	{items(1, maxParts), "AgentContent.parts"},
	{limit{describe: func(s *jsonschema.Schema) {
		for _, name := range []string{"text", "raw", "data", "url"} {
			s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{name}})
		}
	}}, "AgentPart"},
	{limit{describe: func(s *jsonschema.Schema) { s.Type = "string" }}, "AgentPart.raw"},
	{enum(StatusOK, StatusDegraded, StatusDown), "Health.status"},
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

var tagNames = limit{
	func(s *jsonschema.Schema) { members(s, maxItems, &jsonschema.Schema{MaxLength: new(maxID)}) },
	func(c *check, field string, v reflect.Value) {
		c.items(field, v.Len(), 0, maxItems)
		for name := range v.Interface().(map[string]jsontext.Value) {
			c.length(field+"."+truncateValue(name), name, 0, maxID)
		}
	},
}

// variableName is the name of a variable of a template.
var variableName = limit{
	func(s *jsonschema.Schema) {
		length(1, maxID).describe(s)
		s.Pattern = "^" + variablePattern + "$"
	},
	func(c *check, field string, v reflect.Value) {
		if c.length(field, v.String(), 1, maxID) && !validVariable.MatchString(v.String()) {
			c.fail(field, "expected letters, digits, - and _, not beginning with a digit or -, got %.100q", v.String())
		}
	},
}

var variableValues = limit{
	func(s *jsonschema.Schema) { members(s, maxVariables, &jsonschema.Schema{MaxLength: new(maxID)}) },
	func(c *check, field string, v reflect.Value) { c.items(field, v.Len(), 0, maxVariables) },
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

// withDefault describes the value of an absent member, a number or a text.
func withDefault(value any, l limit) limit {
	return limit{func(s *jsonschema.Schema) {
		l.describe(s)
		s.Default, _ = json.Marshal(value) // cannot fail
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

// orElse excludes objects with neither member, without alternatives of required members, which client
// generators do not support.
func orElse(name, other string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.If = &jsonschema.Schema{Not: &jsonschema.Schema{Required: []string{name}}}
		s.Then = &jsonschema.Schema{Required: []string{other}}
	}
}
