package estate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
)

func parse(t testing.TB, text string) *estate.Estate {
	t.Helper()
	e, err := estate.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"arrays at any depth are named by dotted path": {
			`{"b":{"c":[{}],"d":{"e":[{}]}},"a":[{}]}`, []string{"b.c", "b.d.e", "a"}},
		"a bare array is items": {` [{"a":1}] `, []string{"items"}},
		"arrays inside records follow the array": {`{"a":[{"b":[{}]},[{"c":[]}]]}`,
			[]string{"a", "a.b", "a.value"}},
		"empty arrays and plain values come last":             {`{"e":[],"s":["x"],"a":[{}]}`, []string{"a", "e", "s"}},
		"an array with an object precedes arrays without one": {`{"s":["x"],"a":[1,{}]}`, []string{"a", "s"}},
		"the last of duplicate names":                         {`{"a":{"x":[{}]},"a":{"y":[{}]}}`, []string{"a.y"}},
		"the last of duplicate names without an array":        {`{"a":[{}],"a":5}`, nil},
		"the last of duplicate names, one of them escaped":    {`{"a":[{}],"\u0061":5}`, nil},
		"the last of three duplicate names":                   {`{"a":[{}],"a":1,"a":{"b":[{}]}}`, []string{"a.b"}},
		"names are unescaped":                                 {`{"caf\u00e9":[{}]}`, []string{"café"}},
		"a scalar has no arrays":                              {`"text"`, nil},
		"an object without arrays":                            {`{"a":{"b":1}}`, nil},
		"an array nested too deeply is omitted": {
			`{"` + strings.Repeat("x", 600) + `":[{}],"a":[{}]}`, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, c.text).Keys()
			if len(got)+len(c.want) > 0 && !cmp.Equal(got, c.want) {
				t.Errorf("keys %q, want %q", got, c.want)
			}
		})
	}
}

func TestKeyWithDotTakesPrecedence(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a.b":[{},{}],"a":{"b":[{}]}}`, `{"a":{"b":[{}]},"a.b":[{},{}]}`} {
		e := parse(t, text)
		if got := e.Count("a.b"); got != 2 || len(e.Keys()) != 1 {
			t.Errorf("%s: a.b has %d records and keys are %q, want 2 and one", text, got, e.Keys())
		}
	}
}

func TestSyntaxErrorOffset(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		offset int
		reason string
	}{
		"no text":                                 {"", 0, "expected a value"},
		"white space only":                        {" \n", 2, "expected a value"},
		"truncated text":                          {`{"a":[1,`, 8, "unexpected end of text"},
		"a missing comma":                         {`{"a":[1 2]}`, 8, "expected , or ]"},
		"a trailing comma":                        {`{"a":1,}`, 7, "expected a name"},
		"a missing colon":                         {`{"a" 1}`, 5, "expected :"},
		"something follows":                       {`{} x`, 3, "expected nothing after"},
		"a string is not closed":                  {`["abc`, 5, "closing quote"},
		"a string with a line break":              {"[\"a\nb\"]", 3, "no control character"},
		"an unknown escape":                       {`["\x"]`, 3, "after a backslash"},
		"an incomplete escape":                    {`["\u12"]`, 6, "hexadecimal"},
		"a number that starts with zero":          {`[01]`, 2, "expected , or ]"},
		"a number without digits after the point": {`[1.]`, 3, "expected a digit"},
		"a literal that is not JSON":              {`[True]`, 1, "expected a value"},
		"an incomplete literal":                   {`[tru]`, 1, "expected true"},
		"not a number":                            {`[NaN]`, 1, "expected a value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := estate.Parse([]byte(c.text))
			var syntax *estate.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a syntax error", err)
			}
			if syntax.Offset != c.offset || !strings.Contains(syntax.Reason, c.reason) {
				t.Errorf("byte %d: %s; want byte %d: %s", syntax.Offset, syntax.Reason, c.offset, c.reason)
			}
		})
	}
}

func TestSyntaxErrorCountsLines(t *testing.T) {
	t.Parallel()
	_, err := estate.Parse([]byte("{\n \"a\": 1,\n \"b\": ?\n}"))
	if want := "not JSON at byte 17 (line 3, column 7): expected a value"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, brackets := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		for depth, valid := range map[int]bool{10_000: true, 10_001: false, 100_000: false, 1_000_000: false} {
			text := strings.Repeat(brackets[0], depth) + "1" + strings.Repeat(brackets[1], depth)
			if _, err := estate.Parse([]byte(text)); (err == nil) != valid {
				t.Errorf("%d times %s: error %v, want one: %v", depth, brackets[0], err, !valid)
			}
		}
	}
}

func TestMaxArrays(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(`{"first":[]`)
	for i := range 12_000 {
		fmt.Fprintf(&text, `,"a%d":[{"x":%d}]`, i, i)
	}
	text.WriteByte('}')
	e := parse(t, text.String())
	if got := len(e.Keys()); got != 10_000 {
		t.Errorf("%d keys, want 10000", got)
	}
	if limit := 80 * text.Len(); e.Size() > limit {
		t.Errorf("size %d, want less than %d", e.Size(), limit)
	}
}

func TestDuplicateNamesDoNotCount(t *testing.T) {
	t.Parallel()
	text := `{"x":[],` + strings.Repeat(`"a":{"b":[1]},"c":[1],`, 12_000) + `"a":[{}]}`
	if got := parse(t, text).Keys(); !cmp.Equal(got, []string{"a", "x", "c"}) {
		t.Errorf("keys %q, want a, x and c", got)
	}
}

func TestUnknownKey(t *testing.T) {
	t.Parallel()
	e := parse(t, `{"hosts":[{}],"net":{"vlans":[{}]}}`)
	_, err := e.Inspect(t.Context(), "host")
	var unknown *estate.UnknownKeyError
	if !errors.As(err, &unknown) {
		t.Fatalf("error %v, want an unknown key", err)
	}
	got, err := json.Marshal(unknown)
	want := `{"error":"no data array \"host\" in the context; did you mean hosts?","available":["hosts","net.vlans"]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, error %v; want %s", got, err, want)
	}
	if _, err := e.Stats(t.Context(), estate.Query{DataKey: "vlans"}); !errors.As(err, &unknown) {
		t.Errorf("stats of an unknown key: error %v", err)
	}
	if _, err := e.Column(t.Context(), "vlans", "id"); !errors.As(err, &unknown) {
		t.Errorf("column of an unknown key: error %v", err)
	}
	if fields := e.Fields("vlans"); fields != nil {
		t.Errorf("fields of an unknown key: %v", fields)
	}
	got, err = json.Marshal(&estate.UnknownKeyError{Key: "a"})
	if want := `{"error":"no data array \"a\" in the context","available":[]}`; err != nil || string(got) != want {
		t.Errorf("without arrays: %s, error %v; want %s", got, err, want)
	}
}

func TestUnknownKeyListLimit(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(&estate.UnknownKeyError{Key: "a", Available: make([]string, 150)})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Error     string
		Available []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Available) != 100 || !strings.Contains(got.Error, "50 more") {
		t.Errorf("%d keys and %q, want 100 keys and 50 more", len(got.Available), got.Error)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	e := parse(t, `{"a":[{"x":1,"y":{"z":"q"}}],"b":[{"x":2}]}`)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := e.Column(t.Context(), "a", "y.z"); err != nil {
				t.Error(err)
			}
			if s, err := e.Stats(t.Context(), estate.Query{DataKey: "b", GroupBy: estate.GroupBy{"nope"}}); err != nil ||
				s.Note == "" {
				t.Errorf("stats %v, error %v", s, err)
			}
			if got := len(e.Fields("a")); got != 3 {
				t.Errorf("%d fields, want 3", got)
			}
		})
	}
	wait.Wait()
}
