package analyze_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/analyze"
	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/ollamatest"
)

// TestCallsOfTheClient sends tool calls in place of a question: no model is called.
func TestCallsOfTheClient(t *testing.T) {
	t.Parallel()
	server := ollamatest.New(t)
	m, err := ollama.Open(t.Context(), server.URL()+"?plan=tools&answers=forwarded")
	if err != nil {
		t.Fatal(err)
	}
	conn := bustest.Open(t)
	serve(t, conn, m, "cairn.test.render")
	call := func(name, input string) schemas.ToolCall { return schemas.ToolCall{Name: name, Input: []byte(input)} }
	for _, row := range []struct {
		name  string
		calls []schemas.ToolCall
		want  []string
	}{
		{"results in the order of the calls", []schemas.ToolCall{
			call("compute_stats", `{"data_key":"site.pumps","group_by":"state"}`),
			call("inspect_schema", `{"data_key":"site.pumps"}`)},
			[]string{`tool_use {"tool_call_id":"call_1","name":"compute_stats","input":{"data_key":"site.pumps","group_by":"state"}}`,
				`tool_result {"tool_call_id":"call_1","result":{"groups":{"on":2,"off":1},"total":3,"group_count":2,"matched":3,"records":3}}`,
				`tool_use {"tool_call_id":"call_2"`,
				`tool_result {"tool_call_id":"call_2","result":{"fields":["id","state"],"count":3`, `done {}`}},
		{"a wrong call is a result", []schemas.ToolCall{call("inspect_schema", `{"data_key":"x"}`)},
			[]string{"tool_use", `tool_result {"tool_call_id":"call_1","result":{"error":"no data array \"x\" in the context","available":["site.pumps"]}}`, "done"}},
		{"another name", []schemas.ToolCall{call("drop", `{}`)},
			[]string{`calls[0].name: expected inspect_schema or compute_stats, got "drop"`}},
		{"no arguments", []schemas.ToolCall{{Name: "inspect_schema"}},
			[]string{`calls[0].input: expected an object, got null`}},
		{"too many", make([]schemas.ToolCall, 17), []string{`calls: expected at most 16`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := stream(t.Context(), conn, schemas.Analysis{Calls: row.calls, Context: pumps, Target: "H"})
			if err != nil {
				got += err.Error()
			}
			for _, want := range row.want {
				if !strings.Contains(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
}

// TestStatsMemory checks that a call whose groups need more memory than the budget has is refused, that a smaller
// call is not, and that the memory is released.
func TestStatsMemory(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	m, _ := scripted(t)
	err := analyze.Serve(bustest.Service(t, conn, "analyze"), analyze.Deps{
		Conn: conn, Model: m, Memory: 2 << 20, EstateMemory: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	for i := range 16_000 {
		records = append(records, fmt.Sprintf(`{"a":%d}`, i))
	}
	estate := `{"items":[` + strings.Join(records, ",") + `]}`
	for range 3 {
		_, err := stream(t.Context(), conn, schemas.Analysis{Context: estate, Target: "H", Calls: []schemas.ToolCall{
			{Name: "compute_stats", Input: []byte(`{"data_key":"items","group_by":"a","metrics":["count","p50:a"]}`)}}})
		if !errors.Is(err, schemas.ErrAnalysisUnavailable) {
			t.Errorf("error %v, want unavailable", err)
		}
		got, err := stream(t.Context(), conn, schemas.Analysis{Context: estate, Target: "H", Calls: []schemas.ToolCall{
			{Name: "compute_stats", Input: []byte(`{"data_key":"items"}`)}}})
		if err != nil || !strings.Contains(got, `"total":16000`) {
			t.Errorf("a smaller call: %s, error %v", got, err)
		}
	}
}
