package render_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/render"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts the agent and returns its bus.
func serve(t *testing.T) *bus.Conn {
	t.Helper()
	conn := bustest.Open(t)
	if err := render.Serve(bustest.Service(t, conn, "render")); err != nil {
		t.Fatal(err)
	}
	return conn
}

// rendered returns the text of r.
func rendered(t *testing.T, conn *bus.Conn, r schemas.Rendering) string {
	t.Helper()
	var text strings.Builder
	for event, err := range bus.Render.Call(t.Context(), conn, r) {
		if err != nil {
			t.Fatal(err)
		}
		var delta schemas.TextDelta
		if err := json.Unmarshal(event.Data, &delta); err != nil {
			t.Fatal(err)
		}
		text.WriteString(delta.Text)
	}
	return text.String()
}

// analysis returns a finished analysis with one call.
func analysis(answer, input, result string) schemas.Rendering {
	return schemas.Rendering{
		Query: "q", Mode: schemas.ModeStandard, Answer: answer,
		ToolUses:    []schemas.ToolUse{{ToolCallID: "1", Name: "compute_stats", Input: jsontext.Value(input)}},
		ToolResults: []jsontext.Value{jsontext.Value(result)},
	}
}

const (
	bySite = `{"data_key":"hosts","group_by":"site"}`
	sites  = `{"groups":{"fra1":1600,"lon1":9},"total":1609,"group_count":2}`
	table  = "**hosts by site**\n\n| site | count |\n|---|--:|\n| fra1 | 1,600 |\n| lon1 | 9 |\n| total | 1,609 |"
)

func TestRender(t *testing.T) {
	t.Parallel()
	conn := serve(t)
	changed := func(r schemas.Rendering, change func(*schemas.Rendering)) schemas.Rendering {
		change(&r)
		return r
	}
	usual := analysis("Most are in fra1.", bySite, sites)
	for _, row := range []struct {
		name      string
		rendering schemas.Rendering
		want      string
	}{
		{"the answer and a table for a breakdown", usual, "Most are in fra1.\n\n" + table},
		{"a list that a table repeats is removed",
			analysis("1,609 hosts by site:\n- fra1: 1,600\n- lon1: 9\n- of them new: 3\n", bySite, sites),
			"1,609 hosts by site:\n- of them new: 3\n\n" + table},
		{"a list that differs from the table is kept", analysis("New:\n- fra1: 100\n- lon1: 9", bySite, sites),
			"New:\n- fra1: 100\n- lon1: 9\n\n" + table},
		{"no table for one figure", analysis("9.", `{"data_key":"hosts"}`, `{"groups":{},"total":9}`), "9."},
		{"no table for a failed call", analysis("None.", bySite, `{"error":"no array is called hosts"}`), "None."},
		{"no table in broad mode", changed(usual, func(r *schemas.Rendering) {
			r.Mode = schemas.ModeBroad
		}), "Most are in fra1."},
		{"plain columns in the format of the locale", changed(usual, func(r *schemas.Rendering) {
			r.Profile = jsontext.Value(`{"language":"de-CH","format":"plain","name":"Reto"}`)
		}), "Most are in fra1.\n\nhosts nach site\nsite    count\nfra1    1’600\nlon1    9\ngesamt  1’609"},
		{"a language without translation", changed(usual, func(r *schemas.Rendering) {
			r.Profile = jsontext.Value(`{"language":"pl"}`)
		}),
			"Most are in fra1.\n\n" + strings.NewReplacer("1,6", "1\u00a06").Replace(table)},
		{"an invalid profile", changed(usual, func(r *schemas.Rendering) { r.Profile = jsontext.Value(`{"language":7}`) }),
			"Most are in fra1.\n\n" + table},
		{"a table in the history is not repeated", changed(usual, func(r *schemas.Rendering) {
			r.Prompt = &schemas.Prompt{M: map[string]schemas.Utterance{"0": {R: 0, C: "q"}, "1": {R: 1, C: "So:\n\n" + table}}}
		}), "Most are in fra1."},
		{"several metrics, Markdown characters, and no value",
			analysis("", `{"data_key":"a_b","group_by":"c|d","metrics":["count","avg:x"]}`,
				`{"groups":{"null":3,"<b>":2},"total":5,"metrics":{"avg:x":{"groups":{"null":null,"<b>":1.23456},"total":1.5}}}`),
			"\n\n**a_b by c\\|d**\n\n| c\\|d | count | avg:x |\n|---|--:|--:|\n| (none) | 3 | – |\n| &lt;b> | 2 | 1.235 |\n| total | 5 | 1.5 |"},
		{"a duplicate metric", analysis("a", `{"data_key":"hosts","group_by":"site","metrics":["count","count"]}`, sites),
			"a\n\n" + table},
		{"a row for the groups of several fields",
			analysis("a", `{"data_key":"h","group_by":["site","a|b"],"metrics":["count","avg:ram"],"having":{"count":{"gt":1}}}`,
				`{"groups":{},"total":14,"rows":[{"by":["fra1","x|y"],"value":12,"metrics":{"avg:ram":3.5}},`+
					`{"by":["null","z"],"value":2,"metrics":{"avg:ram":null}}],"group_count":5,`+
					`"metrics":{"avg:ram":{"groups":{},"total":3,"unit":"Mi"}}}`),
			"a\n\n**h by site, a\\|b (count > 1)**\n\n| site | a\\|b | count | avg:ram (Mi) |\n|---|---|--:|--:|\n" +
				"| fra1 | x\\|y | 12 | 3.5 |\n| (none) | z | 2 | – |\n| 3 more |  |  |  |\n| total |  | 14 | 3 |"},
		{"a list that repeats the groups of several fields is removed",
			changed(analysis("By site and role:\n- a, db: 2\n- b, web: 1", `{"data_key":"h","group_by":["site","role"]}`,
				`{"groups":{},"total":3,"rows":[{"by":["a","db"],"value":2},{"by":["b","web"],"value":1}]}`),
				func(r *schemas.Rendering) { r.Profile = jsontext.Value(`{"format":"plain"}`) }),
			"By site and role:\n\nh by site, role\nsite   role  count\na      db    2\nb      web   1\ntotal        3"},
		{"one field in an array", analysis("a", `{"data_key":"hosts","group_by":["site"]}`, sites), "a\n\n" + table},
		{"names of records", analysis("Two:\n- a_1\n- \\*b\\*\n- of them new",
			`{"data_key":"hosts","filter":{"up":false},"names":{"limit":2,"field":"fqdn"}}`,
			`{"groups":{},"total":9,"names":[{"name":"a_1"},{"name":"*b*"}],"more_names":7,"matched":9,"records":20}`),
			"Two:\n- of them new\n\n**hosts (up = false)**\n\n| fqdn |\n|---|\n| a_1 |\n| \\*b\\* |\n| 7 more |"},
		{"names with the values that order them", analysis("a_1 first.", `{"data_key":"hosts","top":{"by":"ram","limit":2}}`,
			`{"groups":{},"total":9,"names":[{"name":"a_1","value":64},{"name":"b","value":null}]}`),
			"a_1 first.\n\n**hosts by ram**\n\n| name | ram |\n|---|--:|\n| a_1 | 64 |\n| b | – |"},
		{"no table for one name", analysis("a.", `{"data_key":"hosts","top":{"by":"ram"}}`,
			`{"groups":{},"names":[{"name":"a","value":64}]}`), "a."},
		{"a date as the only metric, after the count", analysis("a",
			`{"data_key":"repos","group_by":"language","metrics":["max:pushed"]}`,
			`{"groups":{"Go":2,"C":1},"total":3,"metrics":{"max:pushed":{"groups":{"Go":"2026-01-02","C":"2025-07-01"},`+
				`"total":"2026-01-02"}}}`),
			"a\n\n**repos by language**\n\n| language | count | max:pushed |\n|---|--:|--:|\n| Go | 2 | 2026-01-02 |\n" +
				"| C | 1 | 2025-07-01 |\n| total | 3 | 2026-01-02 |"},
		{"small figures", analysis("a", `{"data_key":"h","group_by":"s","metrics":["avg:x"]}`,
			`{"groups":{"a":0.00041,"b":0},"total":0.0123456}`),
			"a\n\n**h by s**\n\n| s | avg:x |\n|---|--:|\n| a | 0.00041 |\n| b | 0 |\n| total | 0.0123 |"},
		{"the last of two tables with the same title", changed(analysis("a", bySite, `{"groups":{"x":1,"y":2},"total":3}`),
			func(r *schemas.Rendering) {
				r.ToolUses = append(r.ToolUses, r.ToolUses[0])
				r.ToolResults = append(r.ToolResults, jsontext.Value(sites))
			}), "a\n\n" + table},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, rendered(t, conn, row.rendering)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestLongTablesAreTruncated(t *testing.T) {
	t.Parallel()
	groups := make([]string, 30)
	for i := range groups {
		groups[i] = fmt.Sprintf(`"g%02d":%d`, i, 100-i)
	}
	result := `{"groups":{` + strings.Join(groups, ",") + `},"total":2565,"group_count":1200,"truncated":true}`
	got := rendered(t, serve(t), analysis("Many.", bySite, result))
	if !strings.HasSuffix(got, "| g19 | 81 |\n| 1,180 more |  |\n| total | 2,565 |") {
		t.Errorf("got\n%s\nwant 20 rows, the number of omitted groups, and the total", got)
	}
}
