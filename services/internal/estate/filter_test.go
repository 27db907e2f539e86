package estate_test

import (
	"strings"
	"testing"
)

func TestStatsFilter(t *testing.T) {
	t.Parallel()
	const text = `[
		{"id":0,"v":1}, {"id":1,"v":1.0}, {"id":2,"v":"1"}, {"id":3,"v":null}, {"id":4}, {"id":5,"v":true},
		{"id":6,"v":"Linux"}, {"id":7,"v":[1,"x",null]}, {"id":8,"v":{"w":1}}, {"id":9,"v":10}, {"id":10,"v":"2024-01-31"},
		{"id":11,"v":9007199254740993}, {"id":12,"v":"caf\u00e9"}, {"id":13,"v":{"w":null}}]`
	for filter, want := range map[string]string{
		`{"v":1}`:                       "0 1",
		`{"v":1e0}`:                     "0 1",
		`{"v":"1"}`:                     "2",
		`{"v":true}`:                    "5",
		`{"v":"true"}`:                  "",
		`{"v":null}`:                    "3",
		`{"v":"linux"}`:                 "",
		`{"v":"café"}`:                  "12",
		`{"v":[1.0,"x",null]}`:          "7",
		`{"v":["x",1,null]}`:            "",
		`{"v.w":1}`:                     "8",
		`{"v.w":null}`:                  "13",
		`{"v":9007199254740992}`:        "",
		`{"v":9007199254740993}`:        "11",
		`{"v":1,"id":1}`:                "1",
		`{"v":{"ne":1}}`:                "2 3 4 5 6 7 8 9 10 11 12 13",
		`{"v":{"ne":null}}`:             "0 1 2 5 6 7 8 9 10 11 12 13",
		`{"v":{"gt":1}}`:                "9 11",
		`{"v":{"gte":1}}`:               "0 1 9 11",
		`{"v":{"lt":10}}`:               "0 1",
		`{"v":{"lte":10}}`:              "0 1 9",
		`{"v":{"gt":9007199254740992}}`: "11",
		`{"v":{"gt":0.5,"lt":9.5}}`:     "0 1",
		`{"v":{"gte":"2024-01-01","lt":"2024-02-01"}}`: "10",
		`{"v":{"in":[1,"Linux"]}}`:                     "0 1 6",
		`{"v":{"in":[null]}}`:                          "3",
		`{"v":{"in":[]}}`:                              "",
		`{"v":{"contains":"in"}}`:                      "6",
		`{"v":{"contains":"x"}}`:                       "6 7",
		`{"v":{"contains":1}}`:                         "7",
		`{"v":{"contains":null}}`:                      "7",
		`{"v":{"exists":true}}`:                        "0 1 2 3 5 6 7 8 9 10 11 12 13",
		`{"v":{"exists":false}}`:                       "4",
		`{"v":{"exists":true,"ne":1,"lt":50}}`:         "9",
		`{"v":{"not":{"ne":null}}}`:                    "3 4",
		`{"v":{"not":{"gte":1}}}`:                      "2 3 4 5 6 7 8 10 12 13",
		`{"v":{"not":{"contains":"x"},"exists":true}}`: "0 1 2 3 5 8 9 10 11 12 13",
		`{"v":{"not":{"not":{"in":[[1,"x",null]]}}}}`:  "7",
		`{"id":{"lt":{"field":"v"}}}`:                  "0 9 11",
		`{"v":{"gte":{"field":"id"}}}`:                 "0 1 9 11",
		`{"v":{"lte":{"field":"absent"}}}`:             "",
	} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			s, err := parse(t, text).Stats(t.Context(), query(t, `{"names":{"field":"id"},"filter":`+filter+`}`))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, n := range s.Names {
				names = append(names, n.Name)
			}
			if got := strings.Join(names, " "); got != want || s.Matched != len(names) {
				t.Errorf("records %q, want %q", got, want)
			}
		})
	}
}

func TestStatsAnyOf(t *testing.T) {
	t.Parallel()
	const text = `[{"id":0,"v":1,"w":2}, {"id":1,"v":2,"w":1}, {"id":2,"v":2,"w":2}, {"id":3,"v":3,"w":3}]`
	for any, want := range map[string]float64{
		`[{"v":1},{"w":1}]`:                2,
		`[{"v":2,"w":2},{"v":{"gt":2}}]`:   2,
		`[{}]`:                             4,
		`[]`:                               4,
		`[{"v":{"lt":{"field":"w"}}}]`:     1,
		`[{"v":7},{"w":{"exists":false}}]`: 0,
	} {
		s, err := parse(t, text).Stats(t.Context(), query(t, `{"any_of":`+any+`}`))
		if err != nil || float64(s.Total) != want {
			t.Errorf("any_of %s: %v, %v, want %v", any, s.Total, err, want)
		}
	}
	s, err := parse(t, text).Stats(t.Context(), query(t, `{"filter":{"w":2},"any_of":[{"v":1},{"v":3}]}`))
	if err != nil || s.Total != 1 {
		t.Errorf("filter and any_of: %v, %v, want 1", s.Total, err)
	}
}
