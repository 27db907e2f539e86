package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"cairn/schemas"
)

// computed returns the events of a tool call with the result.
func computed(result string) string {
	return "event: tool_use\ndata: {\"tool_call_id\":\"call_1\",\"name\":\"compute_stats\",\"input\":{}}\n\n" +
		"event: tool_result\ndata: {\"tool_call_id\":\"call_1\",\"result\":" + result + "}\n\n" + done
}

// failed returns the body of a failed analysis.
func failed(detail string) string {
	return fmt.Sprintf(`{"code":"AN-500","status":500,"title":"analysis failed","detail":%q}`, detail)
}

const (
	groups = `{"groups":{"muc1":3,"a, \"b\"":1,"null":1},"total":5,` +
		`"metrics":{"avg:mem":{"groups":{"muc1":1.5,"null":null},"total":2.25,"unit":"Mi"}},"group_count":4,` +
		`"truncated":true,"over_groups":{"max":3,"avg":1.25},"matched":5,"records":9,` +
		`"coverage":{"mem":{"missing":1}},"note":"mem has other units"}`
	rows = `{"groups":{},"total":4,"rows":[{"by":["eu","prod"],"value":3,"metrics":{"sum:cpu":12345678901234567890}},` +
		`{"by":["us","null"],"value":1,"metrics":{"sum:cpu":0.5}}],` +
		`"metrics":{"sum:cpu":{"groups":{},"total":13}},"group_count":2}`
	names = `{"groups":{},"total":7,"names":[{"name":"r1","value":395},{"name":"r\u001b2","value":null}],` +
		`"more_names":5,"matched":7,"records":9}`
	dates = `{"groups":{"Go":2},"total":2,` +
		`"metrics":{"max:at":{"groups":{"Go":"2026-05-01"},"total":"2026-05-01"}},"group_count":1}`
	list  = `{"available":["a.b","c"],"arrays":[{"data_key":"a.b","count":31},{"data_key":"c","count":2}]}`
	shape = `{"fields":["id","mem"],"count":58,"sample":{},"details":[` +
		`{"name":"id","type":"text","share":1,"distinct":51,"examples":["i-1","i-2"]},` +
		`{"name":"mem","type":"quantity","share":0.97,"distinct":2,"values":[["1Gi",26],[null,17]],"unit":"Mi"}],` +
		`"arrays":[{"data_key":"hosts.tags","count":120}],` +
		`"references":[{"field":"site","data_key":"sites","to":"code"}],"name_field":"id"}`
)

func TestCompute(t *testing.T) {
	t.Parallel()
	const hosts = "--data-key=hosts"
	grouped := []string{hosts, "--group-by=site", "--metric=count", "--metric=avg:mem"}
	const groupNotes = "matched 5 of 9 records; 3 of 4 groups; avg:mem in Mi\n" +
		"mem: {\"missing\":1}\nmem has other units\n"
	for _, row := range []response{
		{"groups", 200, computed(groups), grouped,
			result{"site    count  avg:mem\nmuc1    3      1.5\n" +
				"a, \"b\"  1\nnull    1      null\ntotal   5      2.25\n" +
				"max of the groups: 3\navg of the groups: 1.25\n", groupNotes, 0}},
		{"groups as CSV", 200, computed(groups), append(grouped, "-ocsv"),
			result{"site,count,avg:mem\nmuc1,3,1.5\n\"a, \"\"b\"\"\",1,\nnull,1,null\n",
				"max of the groups: 3\navg of the groups: 1.25\n" + groupNotes, 0}},
		{"groups as JSON", 200, computed(`{"groups":{"z":2,"a":1},"total":3}`), append(grouped, "-ojson"),
			result{"{\n  \"groups\": {\n    \"z\": 2,\n    \"a\": 1\n  },\n  \"total\": 3\n}\n", "", 0}},
		{"several group fields", 200, computed(rows),
			[]string{hosts, "--group-by=area", "--group-by=env", "--metric=count", "--metric=sum:cpu"},
			result{"area   env   count  sum:cpu\n" +
				"eu     prod  3      12345678901234567890\nus     null  1      0.5\ntotal        4      13\n", "", 0}},
		{"several group fields as CSV", 200, computed(rows),
			[]string{"--input", `{"data_key":"h","group_by":["area","env"]}`, "-ocsv"},
			result{"area,env,count\neu,prod,3\nus,null,1\n", "", 0}},
		{"the latest date", 200, computed(dates), []string{hosts, "--group-by=lang", "--metric=max:at"},
			result{"lang   count  max:at\nGo     2      2026-05-01\ntotal  2      2026-05-01\n", "", 0}},
		{"a total", 200, computed(`{"groups":{},"total":12,"unit":"Mi"}`), []string{hosts, "--metric=sum:mem"},
			result{"sum:mem\n12\n", "sum:mem in Mi\n", 0}},
		{"no total", 200, computed(`{"groups":{},"total":null}`), []string{hosts, "--metric=avg:mem", "-ocsv"},
			result{"avg:mem\nnull\n", "", 0}},
		{"a share", 200, computed(`{"groups":{},"total":18,"share":{"records":18,"of":58,"percent":31.03}}`),
			[]string{hosts, "--share={}"}, result{"count\n18\nshare: 18 of 58 records, 31.03 %\n", "", 0}},
		{"a share of no records", 200, computed(`{"groups":{},"total":0,"share":{"records":0,"of":0,"percent":null}}`),
			[]string{hosts, "--share={}"}, result{"count\n0\nshare: 0 of 0 records\n", "", 0}},
		{"names", 200, computed(names), []string{hosts, "--top=size", "--top-limit=2"},
			result{"NAME      VALUE\nr1        395\nr\\u001b2  null\n", "matched 7 of 9 records; 5 more names\n", 0}},
		{"names as CSV", 200, computed(names), []string{hosts, "--top=size", "-ocsv"},
			result{"NAME,VALUE\nr1,395\nr\\u001b2,null\n", "matched 7 of 9 records; 5 more names\n", 0}},
		{"names of no records", 200, computed(`{"groups":{},"total":0,"names":[],"matched":0,"records":9}`),
			[]string{hosts, "--names=5"}, result{"", "matched 0 of 9 records\n", 0}},
		{"groups and names", 200, computed(`{"groups":{"a":2},"total":2,"names":[{"name":"x"},{"name":"y"}]}`),
			[]string{hosts, "--group-by=site", "--names=5"},
			result{"site   count\na      2\ntotal  2\n\nNAME\nx\ny\n", "", 0}},
		{"groups and names as CSV", 200, computed(`{"groups":{"a":2},"total":2,"names":[{"name":"x"}]}`),
			[]string{hosts, "--group-by=site", "--names=5", "-ocsv"},
			result{"", "cairn: -o csv: expected groups or names of records, got both\n", exitUsage}},
		{"the arrays", 200, computed(list), nil, result{"DATA_KEY  COUNT\na.b       31\nc         2\n", "", 0}},
		{"the arrays as CSV", 200, computed(list), []string{"-ocsv"}, result{"DATA_KEY,COUNT\na.b,31\nc,2\n", "", 0}},
		{"the arrays as JSON", 200, computed(`{"available":[]}`), []string{"-ojson"},
			result{"{\n  \"available\": []\n}\n", "", 0}},
		{"no arrays", 200, computed(`{"available":[],"arrays":[],"note":"it is a text"}`), nil,
			result{"", "the estate has no array of records: it is a text\n", 0}},
		{"the fields", 200, computed(shape), []string{hosts, "--inspect"},
			result{"FIELD  TYPE         SHARE  DISTINCT  VALUES\nid     text         1      51        i-1, i-2\n" +
				"mem    quantity Mi  0.97   2         1Gi (26), null (17)\n",
				"58 records, named by id\narray hosts.tags: 120 records\nsite refers to code of sites\n", 0}},
		{"an unknown array", 200, computed(`{"error":"no array \"host\"; did you mean hosts?","available":["hosts"]}`),
			[]string{"--data-key=host"}, result{"", "cairn: no array \"host\"; did you mean hosts?\n", exitUsage}},
		{"an unknown array unlike any other", 200, computed(`{"error":"no array \"x\"","available":["hosts","vlans"]}`),
			[]string{"--data-key=x", "-ojson"},
			result{"", "cairn: no array \"x\"; available: hosts, vlans\n", exitUsage}},
		{"an estate that is not JSON", 500, failed("context: not JSON at byte 3"), nil,
			result{"", "cairn: AN-500 analysis failed: context: not JSON at byte 3\n", exitUsage}},
		{"an estate that is not JSON, after the response began", 200,
			"event: error\ndata: {\"code\":\"AN-500\",\"message\":\"analysis failed: context: not JSON\"}\n\n" + done,
			nil, result{"", "cairn: AN-500 analysis failed: context: not JSON\n", exitUsage}},
		{"another failure of the server", 500, failed("out of memory"), nil,
			result{"", "cairn: AN-500 analysis failed: out of memory\n", exitFailed}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.check(t, "compute")
		})
	}
}

// TestComputeCalls checks the tool calls that the flags make.
func TestComputeCalls(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"no flags", nil, `inspect_schema {"data_key":""}`},
		{"--inspect", []string{"--data-key=a", "--inspect"}, `inspect_schema {"data_key":"a"}`},
		{"--data-key", []string{"--data-key=a"}, `compute_stats {"data_key":"a"}`},
		{"all flags",
			[]string{"--data-key=a", "--group-by=x", "--group-by=y,z",
				`--filter={"n":12345678901234567890}`, `--any-of=[{"m":1}]`,
				"--metric=count", "--metric=sum:n", `--having={"count":2}`,
				"--names=5", "--name-field=id", "--top=n", "--top-order=asc", "--top-limit=3",
				"--share={}", `--lookup={"h":{"data_key":"b","field":"c"}}`, "--over-groups=avg"},
			`compute_stats {"any_of":[{"m":1}],"data_key":"a","filter":{"n":12345678901234567890},"group_by":["x","y,z"],` +
				`"having":{"count":2},"lookup":{"h":{"data_key":"b","field":"c"}},"metrics":["count","sum:n"],` +
				`"names":{"field":"id","limit":5},` +
				`"over_groups":["avg"],"share":{"of":{}},"top":{"by":"n","limit":3,"order":"asc"}}`},
		{"--input", []string{"--input", `{"data_key":"a","x":1}`}, `compute_stats {"data_key":"a","x":1}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var received []string
			url := serving(t, func(w http.ResponseWriter, r *http.Request) {
				var q schemas.Analysis
				if err := json.UnmarshalRead(r.Body, &q); err != nil || q.Context != "{}" || q.Query != "" {
					t.Errorf("%+v, %v", q, err)
				}
				for _, call := range q.Calls {
					received = append(received, call.Name+" "+string(call.Input))
				}
				_, _ = fmt.Fprint(w, computed("{}"))
			})
			got := do(t, "{}", append([]string{"compute", "--url", url, "--estate", "-", "-ojson"}, row.args...)...)
			if diff := cmp.Diff([]string{row.want}, received); diff != "" || got.code != 0 {
				t.Errorf("%+v (-want +got):\n%s", got, diff)
			}
		})
	}
}

// TestComputeRefusesFlags checks that wrong flags and estates are refused before a request.
func TestComputeRefusesFlags(t *testing.T) {
	t.Parallel()
	const key = "--data-key=a"
	for _, row := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"invalid JSON", "{}", []string{key, "--filter", `{"a":`}, "--filter: expected a JSON object: "},
		{"JSON of another type", "{}",
			[]string{key, "--any-of", `{"a":1}`}, `--any-of: expected a JSON array, got {"a":1}`},
		{"a text in place of an object", "{}", []string{key, "--share", "all"}, "--share: expected a JSON object: "},
		{"a name twice", "{}", []string{"--input", `{"a":1,"a":2}`}, "--input: expected a JSON object: "},
		{"a number that is none", "{}", []string{key, "--names", "few"}, `--names: expected an integer, got "few"`},
		{"--input with another flag", "{}",
			[]string{"--input", `{"data_key":"a"}`, "--names", "3"}, "--input is the whole input"},
		{"a filter without an array", "{}", []string{"--filter", "{}"}, "--data-key is required"},
		{"--inspect without an array", "{}", []string{"--inspect"}, "--data-key is required"},
		{"--inspect with a filter", "{}",
			[]string{key, "--inspect", "--filter", "{}"}, "--inspect requires --data-key only"},
		{"--top-limit without --top", "{}", []string{key, "--top-limit", "3"}, "--top-order and --top-limit require --top"},
		{"an argument", "{}", []string{"hosts"}, "expected no arguments"},
		{"no estate", "", nil, "--estate -: empty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"compute", "--url", "127.0.0.1:1", "--estate", "-"}, row.args...)
			got := do(t, row.stdin, args...)
			if got.code != exitUsage || !strings.Contains(got.err, row.want) {
				t.Errorf("%+v; want exit %d and %q", got, exitUsage, row.want)
			}
		})
	}
	if got := do(t, "", "compute"); got.code != exitUsage || !strings.Contains(got.err, "--estate is required") {
		t.Errorf("%+v", got)
	}
}
