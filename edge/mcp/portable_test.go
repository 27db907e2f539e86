package mcp

import (
	"maps"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestPortableSchemas checks the schemas of every tool against the subset that Gemini, OpenAI in strict mode and Claude
// accept. Hosts that use the strict mode close objects themselves (additionalProperties, all properties required).
func TestPortableSchemas(t *testing.T) {
	t.Parallel()
	type schema = map[string]any
	hasType := func(s schema, kind string) bool { return s["type"] == kind }
	inputWords := []string{"type", "description", "properties", "required", "items", "enum"}
	outputWords := append(slices.Clone(inputWords), "$ref", "$defs", "anyOf")
	list := func(s schema, name string) []any { values, _ := s[name].([]any); return values }
	rules := []struct {
		name  string
		holds func(s schema, input bool) bool
	}{
		// ai.google.dev/api/caching#Schema; anthropic: earendil-works/pi#9953 (minimum, minLength);
		// OpenAI: platform.openai.com/docs/guides/structured-outputs#supported-schemas, can1357/oh-my-pi#209 (propertyNames)
		{"has the keywords that all support", func(s schema, input bool) bool {
			words := outputWords
			if input {
				words = inputWords
			}
			unknown := func(name string) bool { return !slices.Contains(words, name) }
			return !slices.ContainsFunc(slices.Collect(maps.Keys(s)), unknown)
		}},
		// Schema.type of Gemini does not repeat: github/copilot-cli#4623, google-gemini/gemini-cli#5694
		{"has one type", func(s schema, input bool) bool {
			_, typed := s["type"].(string)
			return typed || !input && (s["$ref"] != nil || s["anyOf"] != nil)
		}},
		// backstage/backstage#34038
		{"has items if it is an array", func(s schema, _ bool) bool { return !hasType(s, "array") || s["items"] != nil }},
		// anomalyco/opencode#11889, #48073
		{"has properties only if it is an object, and items only if it is an array", func(s schema, _ bool) bool {
			return (s["properties"] == nil || hasType(s, "object")) && (s["items"] == nil || hasType(s, "array"))
		}},
		// Kilo-Org/kilocode#11955
		{"requires properties that it has", func(s schema, _ bool) bool {
			properties, _ := s["properties"].(schema)
			return !slices.ContainsFunc(list(s, "required"), func(name any) bool { return properties[name.(string)] == nil })
		}},
		// Gemini: the values of an enum are texts that are not empty
		{"has texts as the values of an enum", func(s schema, input bool) bool {
			return !input || !slices.ContainsFunc(list(s, "enum"), func(value any) bool {
				text, ok := value.(string)
				return !ok || text == ""
			})
		}},
	}
	var check func(place string, value any, input bool)
	check = func(place string, value any, input bool) {
		s, ok := value.(schema)
		if !ok {
			t.Errorf("%s: expected an object, got %v", place, value) // the boolean schema: github/copilot-cli#4623
			return
		}
		for _, rule := range rules {
			if !rule.holds(s, input) {
				t.Errorf("%s: each schema %s; got %v", place, rule.name, s)
			}
		}
		for _, parts := range []string{"properties", "$defs"} {
			members, _ := s[parts].(schema)
			for name, part := range members {
				check(place+"."+name, part, input)
			}
		}
		if s["items"] != nil {
			check(place+"[]", s["items"], input)
		}
		for _, part := range list(s, "anyOf") {
			check(place, part, input)
		}
	}
	session := open(t, &stub{})
	tools, err := session.ListTools(t.Context(), nil)
	must(t, err)
	for _, tool := range tools.Tools {
		for name, value := range map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema} {
			var s schema
			must(t, json.Unmarshal(mustJSON(t, value), &s))
			if !hasType(s, "object") { // opentokenz/mcpx#28: Claude accepts no anyOf at the top
				t.Errorf("%s of %s: expected an object", name, tool.Name)
			}
			check(tool.Name+" "+name, s, name == "input")
		}
	}
}
