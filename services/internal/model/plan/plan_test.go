package plan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
	"cairn/services/internal/model/plan"
)

func TestParse(t *testing.T) {
	t.Parallel()
	count := plan.Call{DataKey: "boats", Metric: "count"}
	grouped := plan.Call{DataKey: "boats", GroupBy: "type", Metric: "count"}
	filtered := plan.Call{DataKey: "boats", Metric: "count",
		Filter: []plan.Condition{{Field: "crew", Op: "gt", Value: json.RawMessage("5")}}}
	for _, row := range []struct {
		name, text string
		want       plan.Plan
	}{
		{"a call in the wrapper",
			`{"calls":[{"data_key":"boats","conditions":"","filter":[],"group_by":"type","metric":"count"}]}`,
			plan.Plan{Calls: []plan.Call{{DataKey: "boats", Filter: []plan.Condition{}, GroupBy: "type", Metric: "count"}}}},
		{"a condition", `{"calls":[{"data_key":"boats","filter":[{"field":"crew","op":"gt","value":5}],"metric":"count"}]}`,
			plan.Plan{Calls: []plan.Call{filtered}}},
		{"a bare call", `{"data_key":"boats","metric":"count"}`, plan.Plan{Calls: []plan.Call{count}}},
		{"a fence", "```json\n{\"calls\":[{\"data_key\":\"boats\",\"metric\":\"count\"}]}\n```",
			plan.Plan{Calls: []plan.Call{count}}},
		{"text around", `Here is the plan: {"calls":[{"data_key":"boats","metric":"count"}]} Done.`,
			plan.Plan{Calls: []plan.Call{count}}},
		{"unknown members", `{"calls":[{"data_key":"boats","metric":"count","why":{"a":[1]}}],"done":true}`,
			plan.Plan{Calls: []plan.Call{count}}},
		{"what is not in the data", `{"calls":[{"not_in_data":"no costs"}]}`, plan.Plan{NotInData: "no costs"}},
		{"an overview", `{"calls":[{"overview":true}]}`, plan.Plan{Overview: true}},
		{"a bare overview", `{"overview":true}`, plan.Plan{Overview: true}},
		{"a question about the conversation", `{"calls":[{"conversation":"what did I ask?"}]}`,
			plan.Plan{Conversation: true}},
		{"duplicates", `{"calls":[{"data_key":"boats","metric":"count"},{"data_key":"boats","metric":"count","conditions":"x"},
			{"data_key":"boats","group_by":"type","metric":"count"}]}`, plan.Plan{Calls: []plan.Call{count, grouped}}},
		{"more than three calls", `{"calls":[{"data_key":"a"},{"data_key":"b"},{"data_key":"c"},{"data_key":"d"}]}`,
			plan.Plan{Calls: []plan.Call{{DataKey: "a"}, {DataKey: "b"}, {DataKey: "c"}}}},
		{"a call beside a reason", `{"calls":[{"data_key":"boats","metric":"count"},{"not_in_data":"no costs"}]}`,
			plan.Plan{Calls: []plan.Call{count}, NotInData: "no costs"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := plan.Parse(row.text)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range got.Calls {
				if c.Conditions == "x" {
					t.Errorf("call %d is the duplicate", i)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text string }{
		{"nothing", ""},
		{"no JSON", "I cannot plan this."},
		{"no object", `["boats"]`},
		{"truncated JSON", `{"calls":[{"data_key":"boats","filter":[{"field":"a"}`},
		{"a truncated text", `{"calls":[{"data_key":"boa`},
		{"two objects", `{"data_key":"a"} {"data_key":"b"}`},
		{"braces in the wrong order", `}{`},
		{"no calls", `{"calls":[]}`},
		{"a call without an array", `{"calls":[{"metric":"count"}]}`},
		{"an empty object", `{}`},
		{"members of another type", `{"calls":[{"data_key":5}]}`},
		{"calls of another type", `{"calls":"boats"}`},
		{"a call that is a text", `{"calls":["boats"]}`},
		{"a text of 17 KiB", `{"calls":[{"data_key":"` + strings.Repeat("a", 17<<10) + `"}]}`},
		{"deep nesting", strings.Repeat(`{"calls":[`, 2000) + strings.Repeat(`]}`, 2000)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got, err := plan.Parse(row.text); !errors.Is(err, plan.ErrNoPlan) {
				t.Errorf("plan %+v, error %v, want %v", got, err, plan.ErrNoPlan)
			}
		})
	}
}

func TestPlanJSON(t *testing.T) {
	t.Parallel()
	for _, p := range []plan.Plan{
		{Calls: []plan.Call{{DataKey: "a.b", Conditions: "x < y & z", GroupBy: `quo"te`, Metric: "sum:x",
			Filter: []plan.Condition{
				{Field: "f", Op: "eq", Value: json.RawMessage(`"<é>"`)},
				{Field: "g", Op: "missing", Value: json.RawMessage("null")}}}}},
		{Calls: []plan.Call{{DataKey: "a", Metric: "count"}, {DataKey: "b", Metric: "count"}}},
		{NotInData: "no costs"}, {Overview: true}, {Conversation: true},
	} {
		got, err := plan.Parse(string(p.JSON()))
		if err != nil {
			t.Errorf("%s: %v", p.JSON(), err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.JSON(), diff)
		}
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, call, question string
		want                 string // the query, as JSON
	}{
		{"no conditions", `{"data_key":"boats","metric":"count"}`, "how many boats are there?",
			`{"data_key":"boats","group_by":"","filter":{},"metrics":["count"]}`},
		{"a call without a metric is a count", `{"data_key":"boats"}`, "how many boats are there?",
			`{"data_key":"boats","group_by":"","filter":{},"metrics":["count"]}`},
		{"one equality", `{"data_key":"boats","filter":[{"field":"crew","op":"eq","value":3}]}`,
			"how many boats have 3 crew?",
			`{"data_key":"boats","group_by":"","filter":{"crew":3},"metrics":["count"],"names":{"limit":10}}`},
		{"equalities of one field are alternatives",
			`{"data_key":"boats","filter":[{"field":"type","op":"eq","value":"tug"},{"field":"crew","op":"eq","value":3},{"field":"type","op":"eq","value":"ferry"}]}`,
			"how many boats are tugs or ferries?",
			`{"data_key":"boats","group_by":"","filter":{"crew":3,"type":{"in":["tug","ferry"]}},"metrics":["count"],"names":{"limit":10}}`},
		{"groups have no names", `{"data_key":"boats","filter":[{"field":"crew","op":"eq","value":3}],"group_by":"type"}`,
			"which types?",
			`{"data_key":"boats","group_by":"type","filter":{"crew":3},"metrics":["count"]}`},
		{"names of a list", `{"data_key":"boats"}`, "which boats are there?",
			`{"data_key":"boats","group_by":"","filter":{},"metrics":["count"],"names":{"limit":10}}`},
		{"as many names as the question asks for", `{"data_key":"boats"}`, "list 25 boats",
			`{"data_key":"boats","group_by":"","filter":{},"metrics":["count"],"names":{"limit":25}}`},
		{"100 names at most", `{"data_key":"boats"}`, "list 5000 boats",
			`{"data_key":"boats","group_by":"","filter":{},"metrics":["count"],"names":{"limit":100}}`},
		{"the record with the largest value", `{"data_key":"boats","metric":"max:crew"}`, "which boat has the largest crew?",
			`{"data_key":"boats","group_by":"","filter":{},"metrics":["max:crew"],"top":{"by":"crew","order":"desc","limit":1}}`},
		{"the records with the smallest values", `{"data_key":"boats","metric":"min:crew"}`,
			"which 3 boats have the smallest crew?",
			`{"data_key":"boats","group_by":"","filter":{},"metrics":["min:crew"],"top":{"by":"crew","order":"asc","limit":3}}`},
		{"the largest value itself", `{"data_key":"boats","metric":"max:crew"}`, "what is the maximum crew?",
			`{"data_key":"boats","group_by":"","filter":{},"metrics":["max:crew"],"top":{"by":"crew","order":"desc","limit":1}}`},
		{"a total has no names", `{"data_key":"boats","filter":[{"field":"type","op":"eq","value":"tug"}],"metric":"sum:crew"}`, "total crew of the tugs",
			`{"data_key":"boats","group_by":"","filter":{"type":"tug"},"metrics":["sum:crew"]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, err := plan.Parse(row.call)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want,
				string(plan.JSON(p.Calls[0].Query(ask(t, boats, row.question).Intent())))); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConditions checks the records that conditions on one field select.
func TestConditions(t *testing.T) {
	t.Parallel()
	const things = `{"things":[{"id":"a","n":1,"tags":["x","y"],"s":"p"},{"id":"b","n":2,"tags":["x"],"s":"q"},{"id":"c","n":3,"tags":[],"s":"r"},{"id":"d","n":null}]}`
	for _, row := range []struct{ name, filter, want string }{
		{"equal", `[{"field":"n","op":"eq","value":2}]`, "b"},
		{"one of two", `[{"field":"n","op":"eq","value":1},{"field":"n","op":"eq","value":3}]`, "a, c"},
		{"other than one", `[{"field":"s","op":"ne","value":"p"}]`, "b, c, d"},
		{"other than two", `[{"field":"s","op":"ne","value":"p"},{"field":"s","op":"ne","value":"q"}]`, "c, d"},
		{"other than one, and present", `[{"field":"s","op":"ne","value":"p"},{"field":"s","op":"present","value":null}]`,
			"b, c"},
		{"between", `[{"field":"n","op":"gt","value":1},{"field":"n","op":"lte","value":3}]`, "b, c"},
		{"above the larger of two bounds", `[{"field":"n","op":"gt","value":2},{"field":"n","op":"gt","value":1}]`, "c"},
		{"one of two, in a range",
			`[{"field":"n","op":"eq","value":1},{"field":"n","op":"eq","value":3},{"field":"n","op":"gt","value":2}]`, "c"},
		{"missing or null", `[{"field":"n","op":"missing","value":null}]`, "d"},
		{"present", `[{"field":"n","op":"present","value":null}]`, "a, b, c"},
		{"a list with an element", `[{"field":"tags","op":"contains","value":"x"}]`, "a, b"},
		{"a list without an element",
			`[{"field":"tags","op":"lacks","value":"y"},{"field":"tags","op":"present","value":null}]`, "b, c"},
		{"other than two, and above a bound",
			`[{"field":"s","op":"ne","value":"p"},{"field":"s","op":"ne","value":"q"},{"field":"n","op":"gt","value":0}]`, "c"},
		{"below the smaller of two dates", `[{"field":"s","op":"lt","value":"r"},{"field":"s","op":"lt","value":"q"}]`, "a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := plan.Call{DataKey: "things", Metric: "count"}
			if err := json.Unmarshal([]byte(row.filter), &c.Filter); err != nil {
				t.Fatal(err)
			}
			e := parse(t, things)
			if got := figure(stats(t, e, plan.Ask(plan.New(t.Context(), e), "how many things?"), c)); got != row.want {
				t.Errorf("records %s, want %s", got, row.want)
			}
		})
	}
}

// TestAll checks the records of which a question says that all are so, in whichever order a model writes the
// conditions.
func TestAll(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, filter, question, want string }{
		{"in the order of the question",
			`[{"field":"type","op":"eq","value":"trawler"},{"field":"insured","op":"eq","value":true}]`,
			"are all trawlers insured?", `{"of":{"type":"trawler"}}`},
		{"in another order", `[{"field":"insured","op":"eq","value":true},{"field":"type","op":"eq","value":"trawler"}]`,
			"are all trawlers insured?", `{"of":{"type":"trawler"}}`},
		{"texts in another order",
			`[{"field":"harbor","op":"eq","value":"Tromso"},{"field":"type","op":"eq","value":"trawler"}]`,
			"are all trawlers in Tromso?", `{"of":{"type":"trawler"}}`},
		{"with an omitted condition", `[{"field":"insured","op":"eq","value":true}]`, "are all trawlers insured?",
			`{"of":{"type":"trawler"}}`},
		{"of all records", `[{"field":"insured","op":"eq","value":true}]`, "are all boats insured?", "null"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := plan.Call{DataKey: "boats", Metric: "count"}
			if err := json.Unmarshal([]byte(row.filter), &c.Filter); err != nil {
				t.Fatal(err)
			}
			q := ask(t, boats, row.question)
			if problems := plan.Check(q, &c); len(problems) > 0 {
				t.Errorf("problems %+v", problems)
			}
			if got := string(plan.JSON(c.Query(q.Intent()).Share)); got != row.want {
				t.Errorf("share %s, want %s", got, row.want)
			}
		})
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	p := plan.Plan{Calls: []plan.Call{
		{DataKey: "a", Metric: "count"}, {DataKey: "a", Metric: "count", Conditions: "x"}, {DataKey: "b", Metric: "count"},
	}}
	p.Compact()
	if len(p.Calls) != 2 || p.Calls[0].Conditions != "" || p.Calls[1].DataKey != "b" {
		t.Errorf("calls %+v", p.Calls)
	}
}

// TestQueryIsValid checks that compute_stats takes the queries of a plan.
func TestQueryIsValid(t *testing.T) {
	t.Parallel()
	var query estate.Query
	p, err := plan.Parse(`{"data_key":"boats","filter":[{"field":"a","op":"missing"},{"field":"b","op":"eq"},{"field":"c","op":"ne"},{"field":"d","op":"gt"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	text := plan.JSON(p.Calls[0].Query(plan.Intent{}))
	if err := json.Unmarshal(text, &query); err != nil {
		t.Errorf("query %q of conditions without values: %v", text, err)
	}
}
