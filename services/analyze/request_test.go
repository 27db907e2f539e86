package analyze

import (
	"errors"
	"strings"
	"testing"

	"cairn/schemas"
)

// TestMalformedBodies: errors name the field.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, body, want string }{
		{"a question that is not UTF-8", "{\"query\":\"how\xff\",\"target\":\"H\",\"context\":\"{}\"}",
			"query: must be valid UTF-8"},
		{"a history that is not UTF-8",
			"{\"prompt\":{\"m\":{\"0\":{\"r\":0,\"c\":\"\xff\"}}},\"target\":\"H\",\"context\":\"{}\"}",
			"prompt: must be valid UTF-8"},
		{"an unpaired surrogate", `{"query":"\ud800","target":"H","context":"{}"}`, "query: must be valid UTF-8"},
		{"a duplicate field", `{"query":"a","query":"b","target":"H","context":"{}"}`, "query: appears twice"},
		{"a duplicate nested field", `{"prompt":{"m":{"0":{"r":0,"r":1}}},"target":"H","context":"{}"}`,
			"prompt.m[0].r: appears twice"},
		{"a number for the question", `{"query":1,"target":"H","context":"{}"}`, "query: expected a string"},
		{"not JSON", `{"query":`, "not valid JSON"},
		{"not an object", `[]`, "expected a JSON object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read([]byte(row.body))
			if !errors.Is(err, schemas.ErrAnalysisMalformed) || !strings.Contains(err.Error(), row.want) ||
				strings.Contains(err.Error(), "Go ") {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestRequestLimits(t *testing.T) {
	t.Parallel()
	const head = `{"query":"q","target":"H","context":"{}",`
	for _, row := range []struct{ name, body, want string }{
		{"a query of 10,001 characters", `{"query":"` + strings.Repeat("é", 10_001) + `","target":"H","context":"{}"}`,
			"query: expected at most 10000 characters, got 10001"},
		{"a query from the history",
			`{"target":"H","context":"{}","prompt":{"m":{"0":{"r":0,"c":"` + strings.Repeat("x", 10_001) + `"}}}}`,
			"query: expected at most 10000 characters, got 10001"},
		{"an id of 257 characters", head + `"id":"` + strings.Repeat("é", 257) + `"}`,
			"id: expected at most 256 characters, got 257"},
		{"a request_id of 257 characters", head + `"request_id":"` + strings.Repeat("é", 257) + `"}`,
			"request_id: expected at most 256 characters, got 257"},
		{"a history of more than 256 KiB", head + `"prompt":{"m":{"0":{"r":0,"c":"` + strings.Repeat("x",
			128<<10) + `"},"1":{"r":1,"c":"` + strings.Repeat("x", 128<<10+1) + `"}}}}`,
			"prompt.m: expected at most 262144 bytes of text in all messages, got 262145"},
		{"a profile of more than 64 KiB", head + `"profile":"` + strings.Repeat("x", 64<<10) + `"}`,
			"profile: expected at most 65536 bytes of JSON, got 65538"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read([]byte(row.body))
			if !errors.Is(err, schemas.ErrAnalysisMalformed) || !strings.HasSuffix(err.Error(), ": "+row.want) {
				t.Errorf("got %.300v, want %q", err, row.want)
			}
		})
	}
	for _, body := range []string{head + `"profile":"` + strings.Repeat("x", 64<<10-2) + `"}`,
		head + `"id":"` + strings.Repeat("é", 256) + `"}`} {
		if _, _, err := read([]byte(body)); err != nil {
			t.Errorf("%.60s…: %v", body, err)
		}
	}
}
