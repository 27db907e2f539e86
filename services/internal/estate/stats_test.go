package estate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
)

// query decodes a query on the top-level array.
func query(t testing.TB, text string) estate.Query {
	t.Helper()
	q := estate.Query{DataKey: estate.BareKey}
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestStatsGroups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, query, want string }{
		"without a group there is only the total": {
			`[{"a":1},{},3]`, `{"group_by":""}`, `{"groups":{},"total":3}`},
		"groups come largest first, then by name": {
			`[{"a":"z"},{"a":"y"},{"a":"x"},{"a":"z"}]`, `{"group_by":"a"}`,
			`{"groups":{"z":2,"x":1,"y":1},"total":4,"group_count":3}`},
		"null and missing are one group": {
			`[{"a":null},{},{"a":"x"},7,{"a":null}]`, `{"group_by":"a"}`,
			`{"groups":{"null":4,"x":1},"total":5,"group_count":1}`},
		"the string null is in the same group": {
			`[{"a":null},{"a":"null"}]`, `{"group_by":"a"}`, `{"groups":{"null":2},"total":2,"group_count":1}`},
		"a number and a string share a label": {
			`[{"a":1},{"a":"1"},{"a":true},{"a":"true"}]`, `{"group_by":"a"}`,
			`{"groups":{"1":2,"true":2},"total":4,"group_count":2}`},
		"dots separate the names of nested objects": {
			`[{"a":{"b":{"c":"x"}}},{"a":{"b":"x"}},{"a":[{"b":1}]}]`, `{"group_by":"a.b.c"}`,
			`{"groups":{"null":2,"x":1},"total":3,"group_count":1}`},
		"a name with dots takes precedence": {
			`[{"a":{"b":1},"a.b":2},{"a":{"b.c":3}},{"a.b":{"c":4},"a":{"b.c":5}}]`, `{"group_by":"a.b"}`,
			`{"groups":{"2":1,"null":1,"{\"c\":4}":1},"total":3,"group_count":2}`},
		"names with dots at any depth": {
			`[{"x":{"a.b":{"c":1}}},{"x.a":{"b.c":2}},{"x.a":{"y":0},"x":{"a":{"b":{"c":3}}}}]`, `{"group_by":"x.a.b.c"}`,
			`{"groups":{"1":1,"2":1,"3":1},"total":3,"group_count":3}`},
		"lists group by element, objects among other values as compact JSON": {
			`[{"a":[1.0, "x"]},{"a":[1,"x","x"]},{"a":{"b": 1, "a":[ ]}},{"a":{"a":[],"b":1}}]`, `{"group_by":"a"}`,
			`{"groups":{"1":2,"x":2,"{\"a\":[],\"b\":1}":2},"total":4,"group_count":3}`},
		"plain values have the field value": {
			`["x","y","x"]`, `{"group_by":"value"}`, `{"groups":{"x":2,"y":1},"total":3,"group_count":2}`},
		"escapes are resolved": {
			`[{"a":"caf\u00e9"},{"\u0061":"café"},{"a":"\ud83d\ude00 \ud800"}]`, `{"group_by":"a"}`,
			`{"groups":{"café":2,"😀 �":1},"total":3,"group_count":2}`},
		"the last of duplicate names": {
			`[{"a":1,"a":2},{"o":{"a":1},"o":{"a":3}}]`, `{"group_by":"a"}`,
			`{"groups":{"2":1,"null":1},"total":2,"group_count":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stats(t, c.text, c.query, c.want)
		})
	}
}

func stats(t *testing.T, text, q, want string) {
	t.Helper()
	s, err := parse(t, text).Stats(t.Context(), query(t, q))
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, contractOf(s)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// contractOf returns the members of a result that every query has, or that depend on groups and metrics.
func contractOf(s estate.Stats) any {
	return struct {
		Groups     estate.Groups             `json:"groups"`
		Total      estate.Number             `json:"total"`
		Metrics    map[string]estate.Figures `json:"metrics,omitempty"`
		GroupCount int                       `json:"group_count,omitzero"`
	}{s.Groups, s.Total, s.Metrics, s.GroupCount}
}

func TestStatsMaxGroups(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, `{"a":"g%04d","n":%d},`, i, i)
	}
	e := parse(t, `[`+text.String()+`{"a":"g1400","n":0}]`)
	s, err := e.Stats(t.Context(), query(t, `{"group_by":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Groups) != 1000 || !s.Truncated || s.GroupCount != 1500 || s.Total != 1501 || s.Records != 1501 {
		t.Errorf("%d groups of %d, truncated %v, total %v; want 1000 of 1500, true, 1501",
			len(s.Groups), s.GroupCount, s.Truncated, s.Total)
	}
	if got := fmt.Sprint(s.Groups[0], s.Groups[1],
		s.Groups[999]); got != "{g1400 {2  false}} {g0000 {1  false}} {g0998 {1  false}}" {
		t.Errorf("groups %s", got)
	}
	if s, err = e.Stats(t.Context(), query(t, `{"group_by":"a","metrics":["max:n","count"]}`)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Groups[0], s.Metrics["count"].Groups[0]); got != "{g1499 {1499  false}} {g1499 {1  false}}" {
		t.Errorf("by maximum: %s", got)
	}
	if !slices.Contains(s.Groups, estate.Group{Key: "g1498", Cell: estate.Cell{Value: 1498}}) {
		t.Error("the second group is not listed")
	}
	if slices.ContainsFunc(s.Groups, func(g estate.Group) bool { return g.Key == "g0000" }) {
		t.Error("the smallest group is listed")
	}
}

func TestStatsTruncatesLongLabels(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	s, err := parse(t, `[{"a":"`+long+`1"},{"a":"`+long+`2"}]`).Stats(t.Context(), query(t, `{"group_by":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Groups) != 2 || s.Groups[0].Key == s.Groups[1].Key || len(s.Groups[0].Key) > 5000 {
		t.Errorf("%d groups, the first of %d bytes", len(s.Groups), len(s.Groups[0].Key))
	}
}

func TestStatsMetrics(t *testing.T) {
	t.Parallel()
	const text = `[{"g":"x","n":0.1},{"g":"x","n":0.2},{"g":"x","n":"3"},{"g":"y","n":-4},{"g":"y","n":10},{"g":"z"},{"g":"z","n":null}]`
	for metric, want := range map[string]string{
		"count":      `{"groups":{"x":3,"y":2,"z":2},"total":7,"group_count":3}`,
		"sum:n":      `{"groups":{"y":6,"x":3.3,"z":0},"total":9.3,"group_count":3}`,
		"avg:n":      `{"groups":{"y":3,"x":1.1,"z":null},"total":1.86,"group_count":3}`,
		"min:n":      `{"groups":{"x":0.1,"y":-4,"z":null},"total":-4,"group_count":3}`,
		"max:n":      `{"groups":{"y":10,"x":3,"z":null},"total":10,"group_count":3}`,
		"distinct:n": `{"groups":{"x":3,"y":2,"z":0},"total":5,"group_count":3}`,
		"p50:n":      `{"groups":{"y":3,"x":0.2,"z":null},"total":0.2,"group_count":3}`,
		"p95:n":      `{"groups":{"y":9.3,"x":2.72,"z":null},"total":8.6,"group_count":3}`,
	} {
		t.Run(metric, func(t *testing.T) {
			t.Parallel()
			stats(t, text, `{"group_by":"g","metrics":["`+metric+`"]}`, want)
		})
	}
}

func TestStatsSeveralMetrics(t *testing.T) {
	t.Parallel()
	stats(t, `[{"g":"x","n":{"v":1}},{"g":null,"n":{"v":2}},{"n":{"v":4}},{"g":"null","n":{"v":8}}]`,
		`{"group_by":"g","metrics":["sum:n.v","count","p50:n.v","distinct:n.v","count"]}`,
		`{"groups":{"null":14,"x":1},"total":15,"metrics":{`+
			`"count":{"groups":{"null":3,"x":1},"total":4},`+
			`"distinct:n.v":{"groups":{"null":3,"x":1},"total":4},`+
			`"p50:n.v":{"groups":{"null":4,"x":1},"total":3}},"group_count":2}`)
}

func TestStatsNullLabel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"g":null,"n":5},{"g":"null","n":1},{"n":9}]`:                             "15 1 9 5 3",
		`[{"g":null,"n":1},{"g":"null","n":9}]`:                                     "10 1 9 5 2",
		`[{"g":null},{"g":"null","n":-2}]`:                                          "-2 -2 -2 -2 1",
		`[{"g":null,"n":3},{"g":"null"}]`:                                           "3 3 3 3 1",
		`[{"g":"null","n":1e16},{"g":"null","n":1},{"g":"null","n":1},{"n":-1e16}]`: "2 -10000000000000000 10000000000000000 1 3",
	} {
		s, err := parse(t, text).Stats(t.Context(),
			query(t, `{"group_by":"g","metrics":["sum:n","min:n","max:n","p50:n","distinct:n"]}`))
		if err != nil {
			t.Fatal(err)
		}
		got := s.Groups[0].Value.String()
		for _, name := range []string{"min:n", "max:n", "p50:n", "distinct:n"} {
			got += " " + s.Metrics[name].Groups[0].Value.String()
		}
		if len(s.Groups) != 1 || got != want {
			t.Errorf("%s: sum, min, max, p50, distinct are %s, want %s", text, got, want)
		}
	}
}

func TestStatsNumbersBeyondFloat(t *testing.T) {
	t.Parallel()
	stats(t, `[{"n":1e999},{"n":1e308},{"n":1e308}]`, `{"metrics":["sum:n","count","max:n"]}`,
		`{"groups":{},"total":null,"metrics":{"count":{"groups":{},"total":3},"max:n":{"groups":{},"total":1e308}}}`)
}

func TestStatsErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ query, want string }{
		"an unknown metric":        {`{"metrics":["median:n"]}`, "expected count, or one of sum avg"},
		"a metric without a field": {`{"metrics":["sum"]}`, "as in avg:price"},
		"a count of a field":       {`{"metrics":["count:n"]}`, "expected count"},
		"an unknown operator": {`{"filter":{"n":{"between":[1,2]}}}`,
			"eq ne gt gte lt lte in contains"},
		"no operator":                                  {`{"filter":{"n":{}}}`, "eq ne gt gte lt lte in contains"},
		"in without an array":                          {`{"filter":{"n":{"in":1}}}`, "expected an array"},
		"an order comparison of booleans":              {`{"filter":{"n":{"gt":true}}}`, "expected a number or a string"},
		"exists with an operand that is not a boolean": {`{"filter":{"n":{"exists":1}}}`, "expected true or false"},
		"a filter without a field":                     {`{"filter":{"":1}}`, "expected the name of a field"},
		"a field longer than the limit": {`{"group_by":"` + strings.Repeat("a.", 400) + `"}`,
			"at most 512 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, `[{"n":1}]`).Stats(t.Context(), query(t, c.query))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one containing %q", err, c.want)
			}
		})
	}
}

func TestStatsMalformedFilter(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "x", "1 2"} {
		q := estate.Query{DataKey: estate.BareKey, Filter: map[string]json.RawMessage{"n": json.RawMessage(raw)}}
		if _, err := parse(t, `[{"n":1}]`).Stats(t.Context(), q); err == nil {
			t.Errorf("filter %q gives no error", raw)
		}
	}
}

func TestStatsNotes(t *testing.T) {
	t.Parallel()
	const text = `[{"os":"linux","n":1,"tags":["a"]},{"os":"linux","n":2},{"os":"aix","n":null}]`
	for name, c := range map[string]struct{ query, want string }{
		"an absent field in group_by": {
			`{"group_by":"arch"}`, `no selected record has the field "arch"; the fields are os, n, tags`},
		"an absent field in a filter": {
			`{"filter":{"arch":"x64"}}`, `no selected record has the field "arch"; the fields are os, n, tags`},
		"an absent field in a metric": {
			`{"metrics":["sum:cost"]}`, `no selected record has the field "cost"; the fields are os, n, tags`},
		"an absent value": {
			`{"filter":{"os":"hpux"}}`, `no record has that value of "os"; its values are "linux", "aix"`},
		"another spelling": {
			`{"filter":{"os":"Linux"}}`, `"os" also has "linux" (2)`},
		"a value of another type": {
			`{"filter":{"n":"1"}}`, `"n" has 1 as a number: equality is strict in type`},
		"an absent null": {
			`{"filter":{"os":null}}`, `no record has that value of "os"; its values are "linux", "aix"`},
		"a value in arrays": {`{"filter":{"tags":"a"}}`,
			`"tags" has arrays: use {"contains": value} to match elements`},
		"conditions that no record meets together": {`{"filter":{"n":1,"os":"aix"}}`, ""},
		"a null in a record that does not match":   {`{"filter":{"n":null,"os":"linux"}}`, ""},
		"a result without a note":                  {`{"group_by":"os","filter":{"n":{"gt":0}},"metrics":["avg:n"]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := parse(t, text).Stats(t.Context(), query(t, c.query))
			if err != nil {
				t.Fatal(err)
			}
			if s.Note != c.want {
				t.Errorf("note %s\nwant %s", s.Note, c.want)
			}
		})
	}
	if s, err := parse(t, `[]`).Stats(t.Context(), query(t, `{"group_by":"x"}`)); err != nil || s.Note != "" {
		t.Errorf("an empty array: note %q, error %v", s.Note, err)
	}
}

// TestStatsTruncated compares results that are limited to n groups with the
// first n groups of the whole result.
func TestStatsTruncated(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		records := make([]string, 60)
		for i := range records {
			records[i] = fmt.Sprintf(`{"group":"g%d","n":%d}`, random.IntN(12), random.IntN(5))
		}
		e := parse(t, "["+strings.Join(records, ",")+"]")
		q := query(t, `{"group_by":"group","metrics":["sum:n"]}`)
		whole, err := e.Stats(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= len(whole.Groups)+1; n++ {
			got, err := e.StatsUpTo(t.Context(), q, n)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole.Groups[:min(n, len(whole.Groups))], got.Groups); diff != "" {
				t.Errorf("seed %d, %d groups (-whole +limited):\n%s", seed, n, diff)
			}
			if want := n < len(whole.Groups); got.Truncated != want || got.GroupCount != whole.GroupCount {
				t.Errorf("seed %d, %d groups: truncated %v of %d, want %v of %d", seed, n, got.Truncated, got.GroupCount, want,
					whole.GroupCount)
			}
		}
	}
}
