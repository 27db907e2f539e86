package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/openaitest"
)

// forms returns the form of each request under the schema of modeltest.Constrained.
func forms(t *testing.T, srv *openaitest.Server) (forms []string) {
	t.Helper()
	const schema = `{"type":"object","required":["calls"],"properties":{"calls":{"type":"array"}}}`
	tools := decoded(t, `[{"type":"function","function":{"name":"plan","description":"Receives the plan.",
		"strict":true,"parameters":`+schema+`}}]`)
	format := decoded(t, `{"type":"json_schema","json_schema":{"name":"plan","strict":true,"schema":`+schema+`}}`)
	for _, r := range srv.Requests() {
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		switch {
		case cmp.Equal(body["tools"], tools) && body["tool_choice"] == "required" && body["response_format"] == nil:
			forms = append(forms, "tool")
		case cmp.Equal(body["response_format"], format) && body["tools"] == nil && body["tool_choice"] == nil:
			forms = append(forms, "format")
		case body["tools"] == nil && body["tool_choice"] == nil && body["response_format"] == nil:
			forms = append(forms, "free")
		default:
			t.Errorf("request %s", r.Body)
		}
	}
	return forms
}

func TestForms(t *testing.T) {
	t.Parallel()
	const plan = `{"calls":[]}`
	call, text := modeltest.ToolTurn("plan", plan), modeltest.TextTurn(plan)
	prose := modeltest.TextTurn("There are", " four.")
	reject := func(status int, message string) modeltest.Turn { return modeltest.Turn{Status: status, Error: message} }
	for _, row := range []struct {
		name   string
		script []modeltest.Turn // of two messages
		want   []string         // the forms of the requests
		second string           // text of the second message
	}{
		{"a server that enforces a call", []modeltest.Turn{call, call}, []string{"tool", "tool"}, plan},
		{"text before a call", []modeltest.Turn{{Text: []string{"Sure."}, Calls: call.Calls}, call},
			[]string{"tool", "tool"}, plan},
		{"a message that is JSON in place of a call", []modeltest.Turn{text, text}, []string{"tool", "tool"}, plan},
		{"a server that ignores the choice of a tool", []modeltest.Turn{prose, text, text},
			[]string{"tool", "format", "format"}, plan},
		{"an empty message in place of a call", []modeltest.Turn{modeltest.TextTurn(), text, text},
			[]string{"tool", "format", "format"}, plan},
		{"a call whose input is no object", []modeltest.Turn{modeltest.ToolTurn("plan", `{"calls`), text, text},
			[]string{"tool", "format", "format"}, plan},
		{"a server that rejects strict", []modeltest.Turn{reject(400, "unknown field strict"), text, text},
			[]string{"tool", "format", "format"}, plan},
		{"a model without tools", []modeltest.Turn{reject(400, "x does not support tools"), text, text},
			[]string{"tool", "format", "format"}, plan},
		{"a rejection with status 422", []modeltest.Turn{reject(422, "extra inputs are not permitted"), text, text},
			[]string{"tool", "format", "format"}, plan},
		{"a rejection with status 500", []modeltest.Turn{reject(500, "tools param requires --jinja flag"), text, text},
			[]string{"tool", "format", "format"}, plan},
		{"a router without endpoints for tools",
			[]modeltest.Turn{reject(404, "No endpoints found that support tool use"), text, text},
			[]string{"tool", "format", "format"}, plan},
		{"a server that rejects both forms",
			[]modeltest.Turn{reject(400, "bad tool"), reject(400, "bad response_format"), prose, prose},
			[]string{"tool", "format", "free", "free"}, "There are four."},
		{"a server that ignores both forms", []modeltest.Turn{prose, prose, prose, prose},
			[]string{"tool", "format", "free", "free"}, "There are four."},
		{"a form that fails after it has worked is tried again for the next message",
			[]modeltest.Turn{call, prose, text, call}, []string{"tool", "tool", "format", "tool"}, plan},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := openaitest.New(t, row.script...)
			m := open(t, srv.URL())
			var last string
			for len(srv.Requests()) < len(row.script) {
				got, err := modeltest.Collect(t.Context(), m, modeltest.Constrained())
				if err != nil || len(got.Calls) > 0 {
					t.Fatalf("message %+v, %v", got, err)
				}
				last = got.Text
			}
			if diff := cmp.Diff(row.want, forms(t, srv)); diff != "" {
				t.Errorf("forms (-want +got):\n%s", diff)
			}
			if last != row.second {
				t.Errorf("last message %q, want %q", last, row.second)
			}
		})
	}
}

func TestErrorsUnderSchema(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		text   string
		target error
		forms  int
	}{
		{"a server that requires a key", 401, "bad key", model.ErrUnavailable, 1},
		{"a model that the server does not have", 404, "model 'x' not found", model.ErrUnavailable, 1},
		{"too many requests", 429, "slow down", model.ErrUnavailable, 1},
		{"a failing server", 500, "oops", nil, 1},
		{"a full queue", 503, "the tool server is busy", model.ErrUnavailable, 1},
		{"a conversation that is too long", 400, "exceeds the context length", model.ErrTooLong, 1},
		{"a request that the server rejects in every form", 400, "bad option", nil, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var script []modeltest.Turn
			for range row.forms {
				script = append(script, modeltest.Turn{Status: row.status, Error: row.text})
			}
			srv := openaitest.New(t, append(script, modeltest.ToolTurn("plan", "{}"))...)
			m := open(t, srv.URL())
			_, err := modeltest.Collect(t.Context(), m, modeltest.Constrained())
			modeltest.CheckError(t, err, row.target, row.text)
			if _, err := modeltest.Collect(t.Context(), m, modeltest.Constrained()); err != nil {
				t.Fatal(err)
			}
			want := append([]string{"tool", "format", "free"}[:row.forms:row.forms], "tool")
			if diff := cmp.Diff(want, forms(t, srv)); diff != "" {
				t.Errorf("forms (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTokenLimit(t *testing.T) {
	t.Parallel()
	unsupported := modeltest.Turn{Status: 400,
		Error: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}
	call := modeltest.ToolTurn("plan", "{}")
	for _, row := range []struct {
		name   string
		script []modeltest.Turn // of two messages
		want   []string         // max_tokens/max_completion_tokens of the requests
	}{
		{"max_tokens", []modeltest.Turn{call, call}, []string{"400/<nil>", "400/<nil>"}},
		{"max_completion_tokens has room for reasoning", []modeltest.Turn{unsupported, call, call},
			[]string{"400/<nil>", "<nil>/2448", "<nil>/2448"}},
		{"a model whose reasoning reaches the limit", []modeltest.Turn{{Thinking: "Hm.", Reason: "length"}, call, call},
			[]string{"400/<nil>", "2448/<nil>", "2448/<nil>"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := openaitest.New(t, row.script...)
			m := open(t, srv.URL())
			for range 2 {
				if _, err := modeltest.Collect(t.Context(), m, modeltest.Constrained()); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, r := range srv.Requests() {
				body := decoded(t, string(r.Body)).(map[string]any)
				got = append(got, fmt.Sprintf("%v/%v", body["max_tokens"], body["max_completion_tokens"]))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepetitionInCall(t *testing.T) {
	t.Parallel()
	call := modeltest.Call{Name: "plan", Input: `{"calls":` + strings.Repeat(" ", 900)}
	srv := openaitest.New(t, modeltest.Turn{Calls: []modeltest.Call{call}, End: modeltest.Hang})
	_, err := modeltest.Collect(t.Context(), open(t, srv.URL()), modeltest.Constrained())
	modeltest.CheckError(t, err, nil, "repeats itself")
}
