package test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// value decodes JSON.
func value(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("JSON %q: %v", truncated(text), err)
	}
	return v
}

// text encodes v as JSON.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // test data always encode
	}
	return string(b)
}

// contains returns the first difference between part and whole, or "": objects may
// have further members at any depth, arrays must have the same length.
func contains(whole, part any) string { return missing("", whole, part) }

func missing(path string, whole, part any) string {
	switch part := part.(type) {
	case map[string]any:
		object, ok := whole.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, expected an object", path, whole)
		}
		for name, want := range part {
			got, ok := object[name]
			if !ok {
				return fmt.Sprintf("no %s.%s", path, name)
			}
			if diff := missing(path+"."+name, got, want); diff != "" {
				return diff
			}
		}
		return ""
	case []any:
		array, ok := whole.([]any)
		if !ok || len(array) != len(part) {
			return fmt.Sprintf("%s is %v, want %d elements: %v", path, whole, len(part), part)
		}
		for i, want := range part {
			if diff := missing(fmt.Sprintf("%s[%d]", path, i), array[i], want); diff != "" {
				return diff
			}
		}
		return ""
	default:
		if !cmp.Equal(whole, part) {
			return fmt.Sprintf("%s is %v, want %v", path, whole, part)
		}
		return ""
	}
}
