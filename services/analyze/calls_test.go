package analyze_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/analyze"
	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
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

// serveWithin starts the service with a memory budget in bytes.
func serveWithin(t *testing.T, conn *bus.Conn, m model.Model, memory int64) {
	t.Helper()
	err := analyze.Serve(bustest.Service(t, conn, "analyze"), analyze.Deps{
		Conn: conn, Model: m, Memory: memory, EstateMemory: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
}

// numbered returns an estate of n records with different numbers.
func numbered(n int) string {
	var records []string
	for i := range n {
		records = append(records, fmt.Sprintf(`{"a":%d}`, i))
	}
	return `{"items":[` + strings.Join(records, ",") + `]}`
}

// Calls on the estate of 16,000 numbers: a budget of 2 MiB suffices for the small one only.
var (
	smallCall = schemas.ToolCall{Name: "compute_stats", Input: []byte(`{"data_key":"items"}`)}
	largeCall = schemas.ToolCall{Name: "compute_stats",
		Input: []byte(`{"data_key":"items","group_by":"a","metrics":["count","p50:a"]}`)}
)

// TestStatsMemory checks that a call whose groups need more memory than the budget has is refused, that a smaller
// call is not, and that the memory is released.
func TestStatsMemory(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	m, _ := scripted(t)
	serveWithin(t, conn, m, 2<<20)
	estate := numbered(16_000)
	for range 3 {
		_, err := stream(t.Context(), conn, schemas.Analysis{Context: estate, Target: "H",
			Calls: []schemas.ToolCall{largeCall}})
		if !errors.Is(err, schemas.ErrAnalysisUnavailable) {
			t.Errorf("error %v, want unavailable", err)
		}
		got, err := stream(t.Context(), conn, schemas.Analysis{Context: estate, Target: "H",
			Calls: []schemas.ToolCall{smallCall}})
		if err != nil || !strings.Contains(got, `"total":16000`) {
			t.Errorf("a smaller call: %s, error %v", got, err)
		}
	}
}

// TestResultsPrecedeTheNextCall checks that the result of a call is sent, and not kept in memory, when a later call
// fails.
func TestResultsPrecedeTheNextCall(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	m, _ := scripted(t)
	serveWithin(t, conn, m, 2<<20)
	got, err := stream(t.Context(), conn, schemas.Analysis{Context: numbered(16_000), Target: "H",
		Calls: []schemas.ToolCall{smallCall, largeCall}})
	_, rest, ok := strings.Cut(got, `"total":16000`)
	if err != nil || !ok || !strings.Contains(rest, schemas.ErrAnalysisUnavailable.Code) {
		t.Errorf("got %s, error %v; want the result of the first call, then %s", got, err,
			schemas.ErrAnalysisUnavailable.Code)
	}
}

// TestResultsOfAModelTakeMemory has a model call the tools for results that exceed the memory budget together.
func TestResultsOfAModelTakeMemory(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	calls := modeltest.Turn{}
	for range 16 {
		calls.Calls = append(calls.Calls, modeltest.Call{Name: "compute_stats",
			Input: `{"data_key":"items","group_by":"a","metrics":["sum:a","avg:a","min:a","max:a","distinct:a","p50:a","p95:a"]}`})
	}
	m, _ := scripted(t, calls, modeltest.TextTurn("Many."))
	serveWithin(t, conn, m, 8<<20)
	got, err := stream(t.Context(), conn, schemas.Analysis{Context: numbered(2000), Target: "H", Query: "How many?"})
	if err == nil && !strings.Contains(got, schemas.ErrAnalysisUnavailable.Code) {
		t.Errorf("got %.300s, want %s", got, schemas.ErrAnalysisUnavailable.Code)
	}
}
