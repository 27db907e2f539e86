package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/model/plan"
)

// wideEstate returns the estate of one array with n fields.
func wideEstate(n int) string {
	record := map[string]any{"name": "x"}
	for i := range n {
		record[fmt.Sprintf("field_%05d", i)] = i
	}
	second := map[string]any{"name": "y", "field_00001": 2, "field_00002": "b"}
	return string(plan.JSON(map[string]any{"things": []any{record, second}}))
}

// noun returns a word of its own for each number up to 999.
func noun(i int) string {
	syllables := []string{"ka", "lo", "mi", "nu", "re", "so", "ti", "vu", "wa", "zo"}
	return syllables[i/100] + syllables[i/10%10] + syllables[i%10] + "d"
}

// manyArrays returns the estate of n arrays.
func manyArrays(n int) string {
	arrays := map[string]any{}
	for i := range n {
		name := noun(i)
		if i%77 == 0 {
			name = "tall_" + name
		}
		arrays[name] = []any{
			map[string]any{"name": fmt.Sprintf("a%d", i), "state": "on", "size": i}, map[string]any{"name": "b", "state": "off"},
			map[string]any{"name": "c", "state": "on"}, map[string]any{"name": "d", "state": "off"},
		}
	}
	return string(plan.JSON(arrays))
}

// hostileNames returns the estate of fields whose names a grammar may not bear.
func hostileNames() string {
	record := map[string]any{}
	for _, name := range []string{
		`quo"te`, `back\slash`, "new\nline", "tab\there", "null\x00byte", "{brace}", "$dollar", "a.b.c", "...", "", " ",
		"über", "日本語", "<tag>&amp;",
		strings.Repeat("long", 75), strings.Repeat("d.", 60) + "e", `","enum":["x`, "\u2028", "parent.name", "**",
	} {
		record[name] = name
	}
	return string(plan.JSON(map[string]any{
		"things": []any{record, map[string]any{"other": 1}}, `key"s \ and` + "\nmore": []any{record, record},
	}))
}

func TestSchema(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, estate, question string }{
		{"a small estate", boats, "how many boats are insured?"},
		{"nested arrays", greenhouses, "how many open valves are in Ara?"},
		{"several arrays", printers, "how many printers are in Pisa?"},
		{"an array without usable fields", `{"things":[{},{}],"voids":[{"a":null},{"a":{}}],"lists":[{"a":[]},{"a":[]}]}`,
			"how many things are there?"},
		{"elements that are not objects", `{"ports":[80,443,8080],"tags":["a","b","a"]}`, "how many ports are there?"},
		{"10,000 fields in one array", wideEstate(10_000), "total field_09999 of the things"},
		{"300 arrays", manyArrays(300), "how many " + noun(299) + "s are on?"},
		{"names with quotes, backslashes, newlines and 300 bytes", hostileNames(), "how many things have a long name?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			q := ask(t, row.estate, row.question)
			prompt := plan.NewPrompt(q)
			checkSchema(t, plan.NewSchema(q, prompt.Arrays, plan.Restriction{}))
			for _, a := range prompt.Arrays[:min(3, len(prompt.Arrays))] {
				checkSchema(t, plan.NewSchema(q, prompt.Arrays, plan.Restriction{DataKey: a.Key}))
			}
		})
	}
}

// checkSchema checks that a schema satisfies OpenAI's strict mode, and what llama.cpp needs: short repetitions, and
// members in the order in which a model decides.
func checkSchema(t *testing.T, raw json.RawMessage) {
	t.Helper()
	if !json.Valid(raw) {
		t.Fatalf("no JSON: %.300s", raw)
	}
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	if root["type"] != "object" || root["anyOf"] != nil {
		t.Errorf("the root is %v, want an object", root["type"])
	}
	v := &validator{t: t}
	v.check("", root)
	if v.values > 1000 || v.characters > 120_000 {
		t.Errorf("%d values of enums and %d characters, want at most 1,000 and 120,000", v.values, v.characters)
	}
	if v.properties > 5000 || v.depth > 10 {
		t.Errorf("%d properties in %d levels, want at most 5,000 and 10", v.properties, v.depth)
	}
	steps := root["properties"].(map[string]any)["calls"].(map[string]any)["items"].(map[string]any)["anyOf"].([]any)
	for _, step := range steps {
		got := required(step)
		if len(got) == 1 {
			continue
		}
		if want := []string{"data_key", "conditions", "filter", "group_by", "metric"}; !slices.Equal(got, want) {
			t.Errorf("members %v, want %v", got, want)
		}
	}
	if len(steps) == 0 {
		t.Error("no steps")
	}
	orderOf(t, raw)
}

// orderOf checks that the properties of calls are written in the order in which they are required.
func orderOf(t *testing.T, raw json.RawMessage) {
	t.Helper()
	for _, part := range strings.Split(string(raw), `"properties":{"data_key":`)[1:] {
		last := 0
		for _, name := range []string{
			`"conditions":{"type"`, `"filter":{"type"`, `"group_by":{"type"`, `"metric":{"type"`, `"required":["data_key"`,
		} {
			i := strings.Index(part[last:], name)
			if i < 0 {
				t.Fatalf("%s is missing or precedes its predecessor in %.300s", name, part)
			}
			last += i
		}
	}
}

// keywords are those of JSON Schema that every server supports.
var keywords = []string{
	"type", "properties", "required", "additionalProperties", "anyOf", "enum", "const", "items", "minItems", "maxItems",
	"maxLength",
}

type validator struct {
	t                                     *testing.T
	values, characters, properties, depth int
}

func (v *validator) check(path string, schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		v.t.Fatalf("%s: schema is %T", path, schema)
	}
	v.depth = max(v.depth, strings.Count(path, "/properties/"))
	for key := range s {
		if !slices.Contains(keywords, key) {
			v.t.Errorf("%s: keyword %s", path, key)
		}
	}
	for _, bound := range []string{"maxItems", "maxLength"} {
		if n, ok := s[bound].(float64); ok && n >= 2000 {
			v.t.Errorf("%s: %s is %v, want less than 2,000", path, bound, n)
		}
	}
	if s["type"] == "object" {
		v.checkObject(path, s)
	}
	if values, ok := s["enum"].([]any); ok {
		v.checkEnum(path, values)
	}
	if text, ok := s["const"].(string); ok {
		v.characters += len(text)
	}
	if items, ok := s["items"]; ok {
		v.check(path+"/items", items)
	}
	if alternatives, ok := s["anyOf"].([]any); ok {
		firsts := map[string]bool{}
		for i, a := range alternatives {
			v.check(fmt.Sprintf("%s/anyOf/%d", path, i), a)
			first := beginning(a)
			if firsts[first] {
				v.t.Errorf("%s: two alternatives begin with %s", path, first)
			}
			firsts[first] = true
		}
	}
}

func (v *validator) checkObject(path string, s map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	names := required(s)
	v.properties += len(properties)
	if s["additionalProperties"] != false || len(names) != len(properties) {
		v.t.Errorf("%s: additionalProperties is %v, and %d of %d properties are required",
			path, s["additionalProperties"], len(names), len(properties))
	}
	for _, name := range names {
		v.characters += len(name)
		v.check(path+"/properties/"+name, properties[name])
	}
}

func (v *validator) checkEnum(path string, values []any) {
	seen := map[string]bool{}
	for _, value := range values {
		text, ok := value.(string)
		if !ok || seen[text] {
			v.t.Errorf("%s: %q is no text, or is repeated", path, value)
		}
		seen[text] = true
		v.values++
		v.characters += len(text)
	}
	if len(values) == 0 {
		v.t.Errorf("%s: an enum without values", path)
	}
}

// required returns the required properties of an object in their order.
func required(schema any) (names []string) {
	list, _ := schema.(map[string]any)["required"].([]any)
	for _, name := range list {
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// beginning returns what the values of a schema begin with: the first property and its constant, or the type.
func beginning(schema any) string {
	s := schema.(map[string]any)
	names := required(s)
	if len(names) == 0 {
		return fmt.Sprint(s["type"])
	}
	return fmt.Sprintf("%s %v", names[0], s["properties"].(map[string]any)[names[0]].(map[string]any)["const"])
}

func TestRestriction(t *testing.T) {
	t.Parallel()
	type narrowed struct {
		Keys, Filter, Groups, Metrics []string
		MinFilter                     float64
		Others                        bool // not_in_data, overview and conversation
	}
	q := ask(t, racks, "how many racks per row?")
	arrays := plan.NewPrompt(q).Arrays
	filter := []string{"cooling", "row", "label", "units", "locked", "audited", "keeper"}
	slices.Sort(filter)
	groups := append([]string{""}, filter...)
	metrics := []string{
		"avg:units", "count", "distinct:audited", "distinct:cooling", "distinct:keeper", "distinct:label", "distinct:row",
		"distinct:units", "max:audited", "max:units", "min:audited", "min:units", "p50:units", "sum:units",
	}
	for _, row := range []struct {
		name        string
		restriction plan.Restriction
		want        narrowed
	}{
		{"the array", plan.Restriction{DataKey: "racks"},
			narrowed{Keys: []string{"racks"}, Filter: filter, Groups: groups, Metrics: metrics}},
		{"the array and fields of a condition", plan.Restriction{DataKey: "racks", Filter: []string{"row"}},
			narrowed{Keys: []string{"racks"}, Filter: []string{"row"}, Groups: groups, Metrics: metrics, MinFilter: 1}},
		{"the array and groups", plan.Restriction{DataKey: "racks", Groups: []string{"row"}},
			narrowed{Keys: []string{"racks"}, Filter: filter, Groups: []string{"row"}, Metrics: metrics}},
		{"the array and metrics", plan.Restriction{DataKey: "racks", Metrics: []string{"avg:units"}},
			narrowed{Keys: []string{"racks"}, Filter: filter, Groups: groups, Metrics: []string{"avg:units"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			raw := plan.NewSchema(ask(t, racks, "how many racks per row?"), arrays, row.restriction)
			checkSchema(t, raw)
			var got narrowed
			for _, step := range stepsOf(t, raw) {
				if len(step.Required) == 1 {
					got.Others = true
					continue
				}
				p := step.Properties
				got.Keys = append(got.Keys, p["data_key"].Const)
				got.Filter, got.MinFilter = p["filter"].Items.Properties["field"].Enum, p["filter"].MinItems
				got.Groups, got.Metrics = p["group_by"].Enum, p["metric"].Enum
			}
			for _, list := range [][]string{got.Filter, got.Groups, got.Metrics} {
				slices.Sort(list)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		steps := stepsOf(t, plan.NewSchema(ask(t, racks, "how many racks per row?"), arrays, plan.Restriction{}))
		var got []string
		for _, step := range steps {
			got = append(got, step.Required[0]+" "+step.Properties["data_key"].Const)
		}
		want := []string{"data_key racks", "data_key shelves", "not_in_data ", "overview ", "conversation "}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	})
}

// step is the schema of a call, as far as a restriction narrows it.
type step struct {
	Const      string
	Enum       []string
	MinItems   float64
	Items      *step
	Properties map[string]step
	Required   []string
}

// UnmarshalJSON ignores constants that are no texts.
func (s *step) UnmarshalJSON(data []byte) error {
	type plain step
	var constant struct{ Const any }
	if err := json.Unmarshal(data, &constant); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	delete(members, "const")
	if err := json.Unmarshal(plan.JSON(members), (*plain)(s)); err != nil {
		return err
	}
	s.Const, _ = constant.Const.(string)
	return nil
}

func stepsOf(t *testing.T, raw json.RawMessage) []step {
	t.Helper()
	var root struct {
		Properties struct {
			Calls struct {
				Items struct{ AnyOf []step }
			}
		}
	}
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	return root.Properties.Calls.Items.AnyOf
}
