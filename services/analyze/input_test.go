package analyze

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/services/internal/model"
)

// TestMalformedArguments: events have an object for any text of a model, and the model
// receives an error with the expected form and without the names of Go types.
func TestMalformedArguments(t *testing.T) {
	t.Parallel()
	long := `{"data_key":"` + strings.Repeat("é", maxMalformedInput)
	for _, row := range []struct{ name, input, use, result string }{
		{"an object", `{"data_key": "pumps"}`, `{"data_key": "pumps"}`, `"count":2`},
		{"an unfinished object", `{"data_key":`, `{"arguments":"{\"data_key\":"}`, "expected them as one JSON object"},
		{"an object with a member twice", `{"data_key":"a","data_key":"b"}`,
			`{"arguments":"{\"data_key\":\"a\",\"data_key\":\"b\"}"}`,
			"expected them as one JSON object"},
		{"an array", `[1]`, `{"arguments":"[1]"}`, "expected them as one JSON object"},
		{"a number", `5`, `{"arguments":"5"}`, "expected them as one JSON object"},
		{"null", `null`, `{"arguments":"null"}`, "expected them as one JSON object"},
		{"a string", `"pumps"`, `{"arguments":"\"pumps\""}`, "expected them as one JSON object"},
		{"nothing", ``, `{"arguments":""}`, "expected them as one JSON object"},
		{"words", `the pumps`, `{"arguments":"the pumps"}`, "expected them as one JSON object"},
		{"invalid UTF-8", "\xff", `{"arguments":"` + "\uFFFD" + `"}`, "expected them as one JSON object"},
		{"an object as text in an object", `{"arguments":"{}"}`, `{"arguments":"{}"}`, "expected them as one JSON object"},
		{"an argument of another type", `{"data_key":5}`, `{"data_key":5}`, "data_key: expected a string, got a number"},
		{"an unknown argument", `{"data":"pumps"}`, `{"data":"pumps"}`, `unknown argument \"data\"`},
		{"a long text", long, "", "expected them as one JSON object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			call := model.Call{Name: inspectSchema, Input: normalizeInput([]byte(row.input))}
			var object map[string]any
			if err := json.Unmarshal(call.Input, &object); err != nil || object == nil {
				t.Errorf("%s: %v", call.Input, err)
			}
			if row.use != "" && string(call.Input) != row.use {
				t.Errorf("tool_use has the input %s, want %s", call.Input, row.use)
			}
			if row.use == "" && len(call.Input) > maxMalformedInput+200 {
				t.Errorf("tool_use has %d bytes", len(call.Input))
			}
			got, err := pumps(t).all(t.Context(), []model.Call{call}, maxResult)
			if err != nil {
				t.Fatal(err)
			}
			answer := string(got[0].answer)
			if !strings.Contains(answer, row.result) || strings.Contains(answer, "Go ") || strings.Contains(answer, "json:") {
				t.Errorf("the model receives %s, want %q", answer, row.result)
			}
			if failed := strings.Contains(answer, `"error"`); failed &&
				!strings.Contains(answer, "inspect_schema takes {data_key: string}") {
				t.Errorf("the error %s does not tell the arguments", answer)
			}
		})
	}
}
