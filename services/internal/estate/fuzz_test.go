package estate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
)

// FuzzEstate compares the package with encoding/json and with the reference implementation
// in reference_test.go.
func FuzzEstate(f *testing.F) {
	for _, seed := range []string{
		`{"a":[{"x":1,"y":{"z":"q"}},{"x":1.0,"y.z":null},{"x":[1,"\u00e9"],"x":2}],"a.b":{"c":[]},"d":[1,"1",true,null]}`,
		`[{"a":"\ud83d\ude00"},{"a":0.60},{"a":-0},{"a":1e2},{"b":{"c":{"a":1}}},[{}]]`,
		`{"a":[{"b":1}],"a":{"b":[{"c":2}]}, "" :[{"":3}]}`,
		"{\"a\xff\":[\n{\"v\":\"\xfe\"} , 5 ]\t}",
		`{"a":1}{"a":[{}]} `, "\uFEFF[{}]", `[[[[]]]]`, `[{"a.b":1,"a":{"b":2}},{"a":{"b":3}},{"a":{"b.c":4}}]`, `"\`, `[1,]`,
		`{"a":01}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(checkText)
}

func checkText(t *testing.T, text []byte) {
	given := bytes.Clone(text)
	e, err := estate.Parse(text)
	valid, ok := asJSON(text)
	if (err == nil) != ok {
		t.Fatalf("error %v, but valid for encoding/json is %v", err, ok)
	}
	if err != nil {
		return
	}
	checkKeys(t, e, readReference(t, valid))
	if !bytes.Equal(text, given) {
		t.Error("the text has changed")
	}
}

// asJSON returns the text without a byte order mark, and a sequence of objects as an array; ok is false if it is
// neither JSON nor such a sequence.
func asJSON(text []byte) (valid []byte, ok bool) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if json.Valid(text) {
		return text, true
	}
	var objects [][]byte
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var object json.RawMessage
		err := dec.Decode(&object)
		if errors.Is(err, io.EOF) {
			return slices.Concat([]byte("["), bytes.Join(objects, []byte(",")), []byte("]")), len(objects) > 1
		}
		if err != nil || object[0] != '{' {
			return nil, false
		}
		objects = append(objects, object)
	}
}

func checkKeys(t *testing.T, e *estate.Estate, want map[string][]any) {
	t.Helper()
	keys := e.Keys()
	for key := range want {
		if !slices.Contains(keys, key) {
			t.Fatalf("keys %q, want %q", keys, key)
		}
	}
	for _, key := range keys[:min(len(keys), 20)] {
		records, ok := referenceRecords(e, key, want)
		if !ok {
			continue // a map of records outside of records, or an array inside of one
		}
		if e.Count(key) != len(records) {
			t.Fatalf("array %q has %d records, want %d", key, e.Count(key), len(records))
		}
		schema, err := e.Inspect(t.Context(), key)
		if err != nil || !json.Valid(schema.Sample) || schema.Count != len(records) {
			t.Fatalf("schema %+v, error %v", schema, err)
		}
		checkFields(t, e, key, records)
	}
}

func checkFields(t *testing.T, e *estate.Estate, key string, records []any) {
	t.Helper()
	checkStats(t, e, key, "no.such.field", records)
	for _, f := range e.Fields(key)[:min(len(e.Fields(key)), 20)] {
		checkStats(t, e, key, f.Path, records)
		column, err := e.Column(t.Context(), key, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		there := 0
		for _, r := range records {
			if v, ok := fieldOf(r, f.Path); ok && v != nil {
				there++
			}
		}
		if _, _, derived, _ := e.Derivation(key); f.Count != there && !derived ||
			column.Records-column.Missing-column.Null != there {
			t.Errorf("field %q has %d values, in the column %d times, want %d",
				f.Path, f.Count, column.Records-column.Missing-column.Null, there)
		}
		for _, v := range column.Values {
			checkFilter(t, e, key, f.Path, v)
		}
	}
}

// checkFilter compares the number of records with a value with that of the column.
func checkFilter(t *testing.T, e *estate.Estate, key, path string, v estate.Value) {
	t.Helper()
	if path == "" || len(path) > 512 {
		return
	}
	s, err := e.Stats(t.Context(), estate.Query{DataKey: key, Filter: map[string]json.RawMessage{path: v.JSON()}})
	if err != nil || s.Matched != v.Count {
		t.Errorf("%d records with %q equal to %s, error %v; want %d", s.Matched, path, v.JSON(), err, v.Count)
	}
}

func checkStats(t *testing.T, e *estate.Estate, key, path string, records []any) {
	t.Helper()
	s, err := e.Stats(t.Context(), estate.Query{
		DataKey: key, GroupBy: estate.GroupBy{path}, Metrics: []string{"count", "distinct:no", "avg:n" + path}})
	if err != nil {
		if len(path) < 500 && !strings.Contains(err.Error(), "its values are objects") {
			t.Fatal(err)
		}
		return
	}
	if out, err := json.Marshal(s); err != nil || !json.Valid(out) {
		t.Errorf("stats are not valid JSON: %s, error %v", out, err)
	}
	want, ok := referenceGroups(records, path)
	if !ok || len(want) > estate.MaxGroups {
		return
	}
	if path == "" {
		want = map[string]float64{}
	}
	got := map[string]float64{}
	for _, g := range s.Groups {
		got[g.Key] = float64(g.Value)
	}
	if diff := cmp.Diff(want, got); diff != "" || int(s.Total) != len(records) {
		t.Errorf("%q by %q: total %v of %d, groups (-want +got):\n%s", key, path, s.Total, len(records), diff)
	}
}

// FuzzAnalyzeBody compares SplitBody with encoding/json.
func FuzzAnalyzeBody(f *testing.F) {
	for _, seed := range []string{
		`{"query":"q","context":"{\"a\":[{\"x\":\"\\u00e9\"}]}","target":"H"}`,
		`{"context":"\ud83d\ude00\ud800\u0041\/\b","context":"\udc00\ud800\u12"}`,
		`{"context":5,"conte\u0078t":"abc\ndefghijklmnop"} `, "{\"context\":\"a\xff\xc3\\u00e9\xa9\"}",
		`{"a":{"context":"x"}}`, `[]`, `null`, `{"context":"a`, `{"context":"` + strings.Repeat(`\\\"`, 20) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := estate.SplitBody(body)
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(body, &want)
		if (err == nil) != (wantErr == nil && want != nil) {
			t.Fatalf("error %v, of encoding/json %v", err, wantErr)
		}
		if err != nil {
			return
		}
		var context string
		raw, ok := want["context"]
		isString := ok && raw[0] == '"'
		if isString {
			if err := json.Unmarshal(raw, &context); err != nil {
				t.Fatal(err)
			}
			delete(want, "context")
		}
		if (got.Context != nil) != isString || textOf(got) != context {
			t.Errorf("context %q, want %q, a string: %v", got.Context, context, isString)
		}
		if !cmp.Equal(got.Members, want) {
			t.Errorf("members %q, want %q", got.Members, want)
		}
		if slices.Contains(got.Duplicates, "context") != (countContext(t, body) > 1) {
			t.Errorf("duplicates %q", got.Duplicates)
		}
	})
}

// countContext returns the number of top-level members named context.
func countContext(t *testing.T, body []byte) int {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(body))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		if name == "context" {
			n++
		}
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// FuzzStats runs arbitrary queries with all arguments on arbitrary estates: a result is valid JSON, and all memory
// is released.
func FuzzStats(f *testing.F) {
	for _, row := range conformance {
		f.Add([]byte(row.text), []byte(row.query))
	}
	f.Fuzz(func(t *testing.T, text, query []byte) {
		e, err := estate.Parse(text)
		var q estate.Query
		if err != nil || json.Unmarshal(query, &q) != nil {
			return
		}
		if keys := e.Keys(); !e.Has(q.DataKey) && len(keys) > 0 {
			q.DataKey = keys[len(q.DataKey)%len(keys)]
		}
		memory := &budget{free: 16 << 20}
		s, err := e.Stats(estate.WithMemory(t.Context(), memory), q)
		if memory.held != 0 {
			t.Errorf("%d bytes are not released", memory.held)
		}
		if out, invalid := json.Marshal(s); err == nil && (invalid != nil || !json.Valid(out) || s.Matched > s.Records) {
			t.Errorf("result %s, error %v", out, invalid)
		}
		if schema, err := e.Inspect(t.Context(), q.DataKey); err == nil && !json.Valid([]byte(encode(t, schema))) {
			t.Error("the schema is not valid JSON")
		}
	})
}
