package estate_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
)

// textOf returns the content of the context.
func textOf(b estate.Body) string {
	if b.Context == nil {
		return ""
	}
	return string([]rune(string(estate.Text(b.Context)))) // invalid UTF-8 becomes U+FFFD
}

func TestSplitBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body       string
		context    string // "none": not a string
		members    map[string]string
		duplicates []string
	}{
		"a context without escapes": {`{"query":"q","context":"[1]"}`, "[1]", map[string]string{"query": `"q"`}, nil},
		"a context with escapes": {
			` { "context" : "{\"a\":\"\\u00e9\",\"b\":\"\u00e9\ud83d\ude00\/\b\f\n\r\t\"}" , "id" : 7 } `,
			"{\"a\":\"\\u00e9\",\"b\":\"é😀/\b\f\n\r\t\"}", map[string]string{"id": "7"}, nil},
		"an unpaired surrogate becomes U+FFFD": {`{"context":"\ud800\ud83d\ude00\udc00x"}`, "�😀�x", nil, nil},
		"invalid UTF-8 becomes U+FFFD":         {"{\"context\":\"a\xff\xfeb\\n\"}", "a��b\n", nil, nil},
		"an empty context is present":          {`{"context":""}`, "", nil, nil},
		"no context":                           {`{"query":"q"}`, "none", map[string]string{"query": `"q"`}, nil},
		"a context that is an object":          {`{"context": {"a":"\u00e9"} }`, `{"a":"\u00e9"}`, nil, nil},
		"a context that is an array":           {`{"query":"q","context":[ ]}`, "[ ]", map[string]string{"query": `"q"`}, nil},
		"a context that is a number":           {`{"context":12}`, "none", map[string]string{"context": `12`}, nil},
		"a context that is null":               {`{"context":null}`, "none", map[string]string{"context": `null`}, nil},
		"the last of two contexts counts":      {`{"context":"a","context":"b\n"}`, "b\n", nil, []string{"context"}},
		"the last of two contexts is not a string": {`{"context":"a","context":2}`, "none", map[string]string{"context": "2"},
			[]string{"context"}},
		"the first of two contexts is not a string": {`{"context":2,"context":"b"}`, "b", nil, []string{"context"}},
		"an escaped name":             {`{"conte\u0078t":"a"}`, "a", nil, nil},
		"another name":                {`{"Context":"a"}`, "none", map[string]string{"Context": `"a"`}, nil},
		"a nested context is ignored": {`{"x":{"context":"a"}}`, "none", map[string]string{"x": `{"context":"a"}`}, nil},
		"no members":                  {`{}`, "none", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := estate.SplitBody([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if context := textOf(got); context != c.context && (c.context != "none" || got.Context != nil) {
				t.Errorf("context %q, want %q", context, c.context)
			}
			if (got.Context == nil) != (c.context == "none") {
				t.Errorf("context is nil: %v", got.Context == nil)
			}
			members := map[string]string{}
			for name, raw := range got.Members {
				members[name] = string(raw)
			}
			if len(members)+len(c.members) > 0 && !cmp.Equal(members, c.members) {
				t.Errorf("members %v, want %v", members, c.members)
			}
			if !cmp.Equal(got.Duplicates, c.duplicates) {
				t.Errorf("duplicates %v, want %v", got.Duplicates, c.duplicates)
			}
		})
	}
}

func TestSplitBodyErrors(t *testing.T) {
	t.Parallel()
	for body, offset := range map[string]int{
		``: 0, `{"context":"a`: 13, `{"context":"a\"}`: 16, `{"context":"a\q"}`: 14, `{"context":"a",}`: 15,
		"{\"context\":\"a\tb\"}":          13,
		`{"context":"aaaaaaaaaaaaaaa\u12`: 31, `{"context":"a"} {`: 16, `{"context":"` + strings.Repeat(`\n`, 50): 112,
	} {
		_, err := estate.SplitBody([]byte(body))
		var syntax *estate.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: error %v, want a syntax error", body, err)
			continue
		}
		if syntax.Offset != offset {
			t.Errorf("%s: byte %d, want %d", body, syntax.Offset, offset)
		}
	}
	for _, body := range []string{`[]`, `null`, `"context"`, ` 1 `} {
		if _, err := estate.SplitBody([]byte(body)); !errors.Is(err, estate.ErrNotObject) {
			t.Errorf("%s: error %v, want %v", body, err, estate.ErrNotObject)
		}
	}
}

func TestShortContextIsCopied(t *testing.T) {
	t.Parallel()
	body := `{"context":"[\n]","padding":"` + strings.Repeat("x", 1<<20) + `"}`
	got, err := estate.SplitBody([]byte(body))
	if err != nil || textOf(got) != "[\n]" || cap(got.Context) > 1<<10 {
		t.Errorf("context %q with a capacity of %d bytes, error %v", got.Context, cap(got.Context), err)
	}
}

// TestLongContext covers the chunk boundary of a context that is unescaped in two parts.
func TestLongContext(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		`abcdefg`, `\"a\":1,`, `\\`, `\\\"`, `\u00e9`, `\ud83d\ude00`, `abcdefgh\ud83d\ude00`, `\ud83dabcdefg`, `\\ud83d\n`,
		`{\n  \"a\": \"\\u00e9\",\r\n\t`, `é😀\/`, `\"#\"]`,
	} {
		for shift := range 9 {
			body := `{"context":"` + strings.Repeat("x", shift) + strings.Repeat(pattern, 300_000/len(pattern)) + `"}`
			var want struct{ Context string }
			if err := json.Unmarshal([]byte(body), &want); err != nil {
				t.Fatal(err)
			}
			got, err := estate.SplitBody([]byte(body))
			if err != nil || textOf(got) != want.Context {
				t.Errorf("%s after %d bytes: the context differs, error %v", pattern, shift, err)
			}
		}
	}
}
