package analyze

import (
	"errors"
	"strings"
	"testing"

	"cairn/schemas"
)

// What is wrong with a body is said by the name of the field.
func TestBodiesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, body, says string }{
		{"a question that is not UTF-8", "{\"query\":\"how\xff\",\"target\":\"H\",\"context\":\"{}\"}", "query: must be valid UTF-8"},
		{"a history that is not UTF-8", "{\"prompt\":{\"m\":{\"0\":{\"r\":0,\"c\":\"\xff\"}}},\"target\":\"H\",\"context\":\"{}\"}", "prompt: must be valid UTF-8"},
		{"half of a surrogate pair", `{"query":"\ud800","target":"H","context":"{}"}`, "query: must be valid UTF-8"},
		{"a field that comes twice", `{"query":"a","query":"b","target":"H","context":"{}"}`, "query: appears twice"},
		{"one inside of another that comes twice", `{"prompt":{"m":{"0":{"r":0,"r":1}}},"target":"H","context":"{}"}`, "prompt.m[0].r: appears twice"},
		{"a number for the question", `{"query":1,"target":"H","context":"{}"}`, "query: want a string"},
		{"no JSON", `{"query":`, "not valid JSON"},
		{"no object", `[]`, "want a JSON object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read([]byte(row.body))
			if !errors.Is(err, schemas.ErrAnalysisMalformed) || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), "Go ") {
				t.Errorf("got %v, want %q", err, row.says)
			}
		})
	}
}
