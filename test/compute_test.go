package test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// fleet has the edge cases of filters and metrics: null, missing, mixed types.
const fleet = `{"hosts":[
	{"name":"a","site":"Oslo","cpus":8,"up":true,"rack":{"row":"x"},"tags":["db","prod"],"retired":null},
	{"name":"b","site":"Oslo","cpus":16,"up":false,"rack":{"row":"y"},"tags":["web"]},
	{"name":"c","site":"Bergen","cpus":4,"up":true,"rack":{"row":"x"},"retired":"2025"},
	{"name":"d","site":null,"cpus":"8","up":true},
	{"name":"e","cpus":2.5}],
	"network":{"vlans":[{"id":10},{"id":20}]},"a.b":[{"x":1}]}`

// computation is a tool call and JSON that its result contains.
type computation struct {
	name, tool, input string
	part              string
}

var computations = []computation{
	{"inspect_schema gives fields, count and one sample", "inspect_schema", `{"data_key":"network.vlans"}`,
		`{"fields":["id"],"count":2,"sample":{"id":10}}`},
	{"an array whose name has a dot", "inspect_schema", `{"data_key":"a.b"}`,
		`{"fields":["x"],"count":1,"sample":{"x":1}}`},
	{"an unknown data_key lists the available ones", "inspect_schema", `{"data_key":"servers"}`,
		`{"available":["hosts","network.vlans","a.b"]}`},
	{"an unknown data_key of compute_stats lists the available ones", "compute_stats", `{"data_key":"vlan"}`,
		`{"available":["hosts","network.vlans","a.b"]}`},
	{"an unknown tool lists the available ones", "drop_table", `{}`, `{"available":["inspect_schema","compute_stats"]}`},
	{"count is the default metric", "compute_stats", `{"data_key":"hosts","group_by":"site"}`,
		`{"groups":{"Oslo":2,"Bergen":1,"null":2},"total":5}`},
	{"an empty group_by returns the total only", "compute_stats", `{"data_key":"hosts","group_by":"","metrics":["count"]}`,
		`{"groups":{},"total":5}`},
	{"fields may be dotted, missing and null values group under null", "compute_stats",
		`{"data_key":"hosts","group_by":"rack.row"}`,
		`{"groups":{"x":2,"y":1,"null":2},"total":5}`},
	{"filters are equality", "compute_stats", `{"data_key":"hosts","filter":{"site":"Oslo","up":true}}`, `{"total":1}`},
	{"filters are strict in type", "compute_stats", `{"data_key":"hosts","filter":{"cpus":"8"}}`, `{"total":1}`},
	{"numbers are compared by value", "compute_stats", `{"data_key":"hosts","filter":{"cpus":8.0}}`, `{"total":1}`},
	{"null matches an explicit null", "compute_stats", `{"data_key":"hosts","filter":{"retired":null}}`, `{"total":1}`},
	{"dotted too", "compute_stats", `{"data_key":"hosts","filter":{"rack.row":"x"}}`, `{"total":2}`},
	{"ne", "compute_stats", `{"data_key":"hosts","filter":{"rack.row":{"ne":"x"},"site":"Oslo"}}`, `{"total":1}`},
	{"gt, numbers in text included", "compute_stats", `{"data_key":"hosts","filter":{"cpus":{"gt":4}}}`, `{"total":3}`},
	{"gte and lte in one filter", "compute_stats", `{"data_key":"hosts","filter":{"cpus":{"gte":4,"lte":8}}}`,
		`{"total":3}`},
	{"lt", "compute_stats", `{"data_key":"hosts","filter":{"cpus":{"lt":4}}}`, `{"total":1}`},
	{"in", "compute_stats", `{"data_key":"hosts","filter":{"name":{"in":["a","e","z"]}}}`, `{"total":2}`},
	{"contains", "compute_stats", `{"data_key":"hosts","filter":{"tags":{"contains":"db"}}}`, `{"total":1}`},
	{"exists", "compute_stats", `{"data_key":"hosts","filter":{"rack":{"exists":true}}}`, `{"total":3}`},
	{"exists not", "compute_stats", `{"data_key":"hosts","filter":{"rack":{"exists":false}}}`, `{"total":2}`},
	{"nothing matches", "compute_stats", `{"data_key":"hosts","filter":{"site":"Rome"},"group_by":"site"}`,
		`{"groups":{},"total":0}`},
	{"groups and total are of the first metric, further ones under metrics", "compute_stats",
		`{"data_key":"hosts","group_by":"site","filter":{"site":{"in":["Oslo","Bergen"]}},"metrics":["sum:cpus","count","avg:cpus","min:cpus","max:cpus","distinct:rack.row","p50:cpus"]}`,
		`{"groups":{"Oslo":24,"Bergen":4},"total":28,"metrics":{"count":{"groups":{"Oslo":2,"Bergen":1},"total":3},"avg:cpus":{"groups":{"Oslo":12,"Bergen":4}},
		"min:cpus":{"groups":{"Oslo":8,"Bergen":4},"total":4},"max:cpus":{"groups":{"Oslo":16,"Bergen":4},"total":16},
		"distinct:rack.row":{"groups":{"Oslo":2,"Bergen":1},"total":2},"p50:cpus":{"groups":{"Bergen":4},"total":8}}}`},
	{"p95", "compute_stats", `{"data_key":"network.vlans","metrics":["p95:id"]}`, `{"groups":{}}`},
	{"an average of no numbers is null", "compute_stats",
		`{"data_key":"hosts","filter":{"name":"z"},"metrics":["avg:cpus"]}`,
		`{"total":null}`},
}

func TestComputations(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		for _, r := range computations {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				result := c.compute(t, r.tool, r.input, fleet)
				if diff := contains(result, value(t, r.part)); diff != "" {
					t.Errorf("%s in %s", diff, text(result))
				}
				if e := result["error"]; (e != nil) != strings.Contains(r.part, "available") {
					t.Errorf("error %v in %s", e, text(result))
				}
			})
		}
		for _, input := range []string{
			`{"data_key":"hosts","metrics":["median:cpus"]}`, `{"data_key":"hosts","filter":{"cpus":{"like":"8"}}}`,
			`{"data_key":7}`,
			`{"data_key":"hosts","metrics":["sum"]}`, `{"data_key":"hosts","filter":[]}`, `{}`,
		} {
			if result := c.compute(t, "compute_stats", input, fleet); result["error"] == nil {
				t.Errorf("%s: %s, want an error result", input, text(result))
			}
		}
	})
}

// compute makes the model call one tool and returns its result.
func (c *client) compute(t testing.TB, tool, input, context string) map[string]any {
	t.Helper()
	var arguments map[string]any
	must(t, json.Unmarshal([]byte(input), &arguments))
	events := c.analyze(t, question(text(script{Calls: []toolCall{{tool, arguments}}, Say: "done"}), context))
	inOrder(t, kindsOf(events))
	results := all(events, "tool_result")
	if len(results) != 1 {
		t.Fatalf("%d results, want one: %v", len(results), events)
	}
	return value(t, results[0]).(map[string]any)["result"].(map[string]any)
}

func TestManyGroups(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		var hosts []string
		for i := range 1200 {
			hosts = append(hosts, fmt.Sprintf(`{"n":"h%d"}`, i))
		}
		hosts = append(hosts, `{"n":"h1199"}`)
		result := c.compute(t, "compute_stats", `{"data_key":"items","group_by":"n"}`, "["+strings.Join(hosts, ",")+"]")
		groups := result["groups"].(map[string]any)
		if len(groups) != 1000 || groups["h1199"] != 2.0 {
			t.Errorf("%d groups, the largest of %v, want 1000 with the largest of 2", len(groups), groups["h1199"])
		}
		if diff := contains(result, value(t, `{"truncated":true,"group_count":1200,"total":1201}`)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSeveralToolCalls(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		ask := script{Say: "a final answer", Calls: []toolCall{
			{"inspect_schema", map[string]any{"data_key": "hosts"}}, {"compute_stats", map[string]any{"data_key": "none"}},
			{"compute_stats", map[string]any{"data_key": "hosts"}},
		}}
		events := c.analyze(t, question(text(ask), fleet, `"include":["usage"]`))
		if got := strings.Join(kindsOf(events), " "); !strings.HasPrefix(got,
			"tool_use tool_result tool_use tool_result tool_use tool_result text_delta") {
			t.Errorf("%s: want each result after its call", got)
		}
		inOrder(t, kindsOf(events))
		if diff := contains(value(t, all(events, "usage")[0]), value(t, `{"tool_calls":3}`)); diff != "" {
			t.Error(diff)
		}
		ids := map[any]bool{}
		for _, use := range all(events, "tool_use") {
			ids[value(t, use).(map[string]any)["tool_call_id"]] = true
		}
		if len(ids) != 3 {
			t.Errorf("tool_call_ids %v, want three", ids)
		}
	})
}
