package plan_test

import (
	"bytes"
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

// A schema has the keywords of JSON Schema that every server supports.
type schema struct {
	Type                          string
	Const                         any
	Enum                          []string
	Items                         *schema
	AnyOf                         []*schema
	Properties                    map[string]*schema
	Required                      []string
	AdditionalProperties          *bool
	MinItems, MaxItems, MaxLength int
}

// checkSchema checks that a schema satisfies OpenAI's strict mode, and what llama.cpp needs: short repetitions, and
// members in the order in which a model decides. It returns the schemas of the steps.
func checkSchema(t *testing.T, raw json.RawMessage) (steps []*schema) {
	t.Helper()
	var root schema
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&root); err != nil || !json.Valid(raw) {
		t.Fatalf("error %v: %.300s", err, raw)
	}
	if root.Type != "object" || root.AnyOf != nil {
		t.Errorf("the root is %v, want an object", root.Type)
	}
	v := &validator{t: t}
	v.check("", &root)
	if v.values > 1000 || v.characters > 120_000 {
		t.Errorf("%d values of enums and %d characters, want at most 1,000 and 120,000", v.values, v.characters)
	}
	if v.properties > 5000 || v.depth > 10 {
		t.Errorf("%d properties in %d levels, want at most 5,000 and 10", v.properties, v.depth)
	}
	steps = root.Properties["calls"].Items.AnyOf
	want := []string{"data_key", "conditions", "filter", "group_by", "metric"}
	for _, step := range steps {
		if got := step.Required; len(got) != 1 && !slices.Equal(got, want) {
			t.Errorf("members %v, want %v", got, want)
		}
	}
	if len(steps) == 0 {
		t.Error("no steps")
	}
	orderOf(t, raw)
	return steps
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

type validator struct {
	t                                     *testing.T
	values, characters, properties, depth int
}

func (v *validator) check(path string, s *schema) {
	v.depth = max(v.depth, strings.Count(path, "/properties/"))
	if s.MaxItems >= 2000 || s.MaxLength >= 2000 {
		v.t.Errorf("%s: %d items or %d characters, want less than 2,000", path, s.MaxItems, s.MaxLength)
	}
	if s.Type == "object" {
		v.checkObject(path, s)
	}
	if s.Enum != nil {
		v.checkEnum(path, s.Enum)
	}
	if text, ok := s.Const.(string); ok {
		v.characters += len(text)
	}
	if s.Items != nil {
		v.check(path+"/items", s.Items)
	}
	firsts := map[string]bool{}
	for i, a := range s.AnyOf {
		v.check(fmt.Sprintf("%s/anyOf/%d", path, i), a)
		first := beginning(a)
		if firsts[first] {
			v.t.Errorf("%s: two alternatives begin with %s", path, first)
		}
		firsts[first] = true
	}
}

func (v *validator) checkObject(path string, s *schema) {
	v.properties += len(s.Properties)
	if s.AdditionalProperties == nil || *s.AdditionalProperties || len(s.Required) != len(s.Properties) {
		v.t.Errorf("%s: other properties are not excluded, or %d of %d are required", path, len(s.Required),
			len(s.Properties))
	}
	for _, name := range s.Required {
		v.characters += len(name)
		v.check(path+"/properties/"+name, s.Properties[name])
	}
}

func (v *validator) checkEnum(path string, values []string) {
	for _, text := range values {
		v.values++
		v.characters += len(text)
	}
	if different := slices.Compact(slices.Sorted(slices.Values(values))); len(values) == 0 ||
		len(different) < len(values) {
		v.t.Errorf("%s: an enum without values, or with repeated ones", path)
	}
}

// beginning returns what the values of a schema begin with: the first property and its constant, or the type.
func beginning(s *schema) string {
	if len(s.Required) == 0 {
		return s.Type
	}
	return fmt.Sprintf("%s %v", s.Required[0], s.Properties[s.Required[0]].Const)
}

func TestRestriction(t *testing.T) {
	t.Parallel()
	const question = "how many racks per row?"
	type narrowed struct {
		Keys                    []any
		Filter, Groups, Metrics []string
		MinFilter               int
		Others                  bool // not_in_data, overview and conversation
	}
	arrays := plan.NewPrompt(ask(t, racks, question)).Arrays
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
			narrowed{Keys: []any{"racks"}, Filter: filter, Groups: groups, Metrics: metrics}},
		{"the array and fields of a condition", plan.Restriction{DataKey: "racks", Filter: []string{"row"}},
			narrowed{Keys: []any{"racks"}, Filter: []string{"row"}, Groups: groups, Metrics: metrics, MinFilter: 1}},
		{"the array and groups", plan.Restriction{DataKey: "racks", Groups: []string{"row"}},
			narrowed{Keys: []any{"racks"}, Filter: filter, Groups: []string{"row"}, Metrics: metrics}},
		{"the array and metrics", plan.Restriction{DataKey: "racks", Metrics: []string{"avg:units"}},
			narrowed{Keys: []any{"racks"}, Filter: filter, Groups: groups, Metrics: []string{"avg:units"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var got narrowed
			for _, step := range checkSchema(t, plan.NewSchema(ask(t, racks, question), arrays, row.restriction)) {
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
		var got []string
		for _, step := range checkSchema(t, plan.NewSchema(ask(t, racks, question), arrays, plan.Restriction{})) {
			got = append(got, beginning(step))
		}
		want := []string{
			"data_key racks", "data_key shelves", "not_in_data <nil>", "overview true", "conversation <nil>",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	})
}
