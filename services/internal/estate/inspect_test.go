package estate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cairn/services/internal/estate"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"fields of all records are listed, nested ones after their object": {
			`[{"a":1,"o":{"x":1}},{"b":2,"o":{"y":{"z":null}}}]`,
			`{"fields":["a","o","o.x","o.y","o.y.z","b"],"count":2,"sample":{"a":1,"o":{"x":1}}}`},
		"an empty array has no sample": {`[]`, `{"fields":[],"count":0,"sample":{}}`},
		"plain values have the field value": {
			`["x","y"]`, `{"fields":["value"],"count":2,"sample":{"value":"x"}}`},
		"the sample is the first object": {
			`[3,{"a":1}]`, `{"fields":["value","a"],"count":2,"sample":{"a":1}}`},
		"the last of duplicate names": {
			`[{"a":1,"b":2,"a":3}]`, `{"fields":["a","b"],"count":1,"sample":{"a":3,"b":2}}`},
		"long arrays and deep values are cut": {
			`[{"a":[1,2,3,4,5],"b":{"c":{"d":{"e":{"f":1}}}}}]`,
			`{"fields":["a","b","b.c","b.c.d","b.c.d.e","b.c.d.e.f"],"count":1,` +
				`"sample":{"a":[1,2,3,"… 2 more"],"b":{"c":{"d":{"e":"…"}}}}}`},
		"text is unchanged": {
			`[{"a<b":"x>y & \"z\" \u00e9"}]`,
			`{"fields":["a<b"],"count":1,"sample":{"a<b":"x>y & \"z\" é"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, err := parse(t, c.text).Inspect(t.Context(), estate.BareKey)
			if err != nil {
				t.Fatal(err)
			}
			contract := struct {
				Fields []string        `json:"fields"`
				Count  int             `json:"count"`
				Sample json.RawMessage `json:"sample"`
			}{schema.Fields, schema.Count, schema.Sample}
			if got := encode(t, contract); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// encode returns JSON without HTML escaping, as the services write it.
func encode(t testing.TB, v any) string {
	t.Helper()
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestInspectLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `"field%d":{"x":["%s",%d]},`, i, strings.Repeat("é", 5000), i)
		}
		return text.String()
	}
	for name, record := range map[string]string{
		"many fields":           `{` + long(1000) + `"z":1}`,
		"long names":            `{"` + strings.Repeat("n", 100_000) + `":{"a":1,"b":[[[[[1]]]]]},"z":1}`,
		"a long number":         `{"z":` + strings.Repeat("7", 100_000) + `}`,
		"long plain value":      `"` + strings.Repeat("v", 100_000) + `"`,
		"arrays within arrays":  `{"z":` + strings.Repeat("[1,2,3,4,", 500) + `0` + strings.Repeat("]", 500) + `}`,
		"nested objects, broad": `{"a":{` + long(50) + `"b":{` + long(50) + `"c":{}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, err := parse(t, `[`+record+`]`).Inspect(t.Context(), estate.BareKey)
			if err != nil {
				t.Fatal(err)
			}
			out := encode(t, schema)
			if len(out) > 24_000 {
				t.Errorf("%d bytes: %.200s", len(out), out)
			}
			if !strings.Contains(out, "…") {
				t.Errorf("truncation is not marked: %s", out)
			}
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	e := parse(t, `[{"a":1,"o":{"b":"x"}},{"a":null,"o":{"b":true}},{"a":"s","o":[1]},7]`)
	want := []estate.Field{
		{Path: "a", Types: []string{"string", "number", "null"}, Count: 2},
		{Path: "o", Types: []string{"array", "object"}, Count: 3},
		{Path: "o.b", Types: []string{"string", "boolean"}, Count: 2},
		{Path: "value", Types: []string{"number"}, Count: 1},
	}
	got := e.Fields(estate.BareKey)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestFieldsLimit(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&text, `{"f%d":%d},`, i, i)
	}
	e := parse(t, `[`+text.String()+`{}]`)
	if got := len(e.Fields(estate.BareKey)); got != 1000 {
		t.Errorf("%d fields, want 1000", got)
	}
	column, err := e.Column(t.Context(), estate.BareKey, "f1050")
	if err != nil || column.Distinct != 1 || column.Missing != 1100 {
		t.Errorf("the column of an unlisted field: %+v, error %v", column, err)
	}
}

func TestColumn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		path string
		want estate.Column
	}{
		"values are counted, the most frequent first": {
			`[{"a":"x"},{"a":"y"},{"a":1},{"a":1.0},{"a":"1"},{"a":true},{"a":1e0},{"a":"y"}]`, "a",
			estate.Column{Type: "mixed", Records: 8, Distinct: 5, Values: []estate.Value{
				{Text: "1", Type: "number", Count: 3}, {Text: "y", Type: "string", Count: 2}, {Text: "x", Type: "string", Count: 1},
				{Text: "1", Type: "string", Count: 1}, {Text: "true", Type: "boolean", Count: 1}}}},
		"null and missing values are counted separately": {
			`[{"a":{"b":null}},{"a":{"b":"x"}},{"a":{}},{"a":null},{}]`, "a.b",
			estate.Column{Type: "text", Records: 5, Missing: 3, Null: 1, Distinct: 1,
				Values: []estate.Value{{Text: "x", Type: "string", Count: 1}}}},
		"elements of arrays are counted separately": {
			`[{"a":["p","q"]},{"a":["q",null,{}]}]`, "a",
			estate.Column{Type: "list", Records: 2, Elements: []estate.Value{
				{Text: "q", Type: "string", Count: 2}, {Text: "p", Type: "string", Count: 1}}, DistinctElements: 2}},
		"a name with a dot takes precedence over a path": {
			`[{"a":{"b":"path"},"a.b":"name"},{"a":{"b":"path"}}]`, "a.b",
			estate.Column{Type: "text", Records: 2, Distinct: 2, Values: []estate.Value{
				{Text: "name", Type: "string", Count: 1}, {Text: "path", Type: "string", Count: 1}}}},
		"the last of duplicate names": {
			`[{"a":"x","a":"y"}]`, "a",
			estate.Column{Type: "text", Records: 1, Distinct: 1, Values: []estate.Value{{Text: "y", Type: "string", Count: 1}}}},
		"no record has the field": {`[{"a":1}]`, "b", estate.Column{Type: "null", Records: 1, Missing: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, c.text).Column(t.Context(), estate.BareKey, c.path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("column (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColumnLimit(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&text, `{"a":%d},{"a":11999},`, i)
	}
	got, err := parse(t, `[`+text.String()+`{}]`).Column(t.Context(), estate.BareKey, "a")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Values) != estate.MaxValues || got.Distinct != 12_000 || got.Values[0].Count != 12_001 {
		t.Errorf("%d of %d values, the first %v; want 10000 of 12000, the first 12001 times",
			len(got.Values), got.Distinct, got.Values[0])
	}
}

func TestValueJSON(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]estate.Value{
		`"a\"<b"`: {Text: `a"<b`, Type: "string"}, `"1"`: {Text: "1", Type: "string"},
		`1`: {Text: "1", Type: "number"}, `true`: {Text: "true", Type: "boolean"},
	} {
		if got := string(v.JSON()); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
