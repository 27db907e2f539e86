package ollama_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	types "github.com/ollama/ollama/types/model"

	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/ollamatest"
)

// sent returns the JSON of the request that the server received for c.
func sent(t *testing.T, srv *ollamatest.Server, settings string, c model.Conversation) (got map[string]any) {
	t.Helper()
	if _, err := modeltest.Collect(t.Context(), open(t, srv.URL()+settings), c); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(srv.Requests()[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRequest(t *testing.T) {
	t.Parallel()
	c := modeltest.Question()
	c.Messages = append([]model.Message{
		{Role: model.User, Text: "Hello"},
		{Role: model.Assistant, Text: "Hello."},
	}, c.Messages...)
	c.Messages = append(c.Messages,
		model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "c1", Name: "inspect_schema",
			Input: json.RawMessage(`{"data_key":"servers"}`)}}},
		model.Message{Role: model.ToolRole, CallID: "c1", Tool: "inspect_schema", Result: json.RawMessage(`{"count":4}`)})
	want := `{
		"model": "scripted:latest",
		"messages": [
			{"role": "system", "content": "You answer questions."},
			{"role": "user", "content": "Hello"},
			{"role": "assistant", "content": "Hello."},
			{"role": "user", "content": "How many servers are there?"},
			{"role": "assistant", "content": "", "tool_calls": [
				{"id": "c1", "function": {"index": 0, "name": "inspect_schema", "arguments": {"data_key": "servers"}}}]},
			{"role": "tool", "content": "{\"count\":4}", "tool_name": "inspect_schema", "tool_call_id": "c1"}],
		"tools": [{"type": "function", "function": {"name": "inspect_schema", "description": "Describes an array.",
			"parameters": {"type": "object", "required": ["data_key"], "properties": {"data_key": {"type": "string"}}}}}],
		"options": {"num_ctx": 16384},
		"truncate": false,
		"shift": false}`
	var wanted map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	got := sent(t, ollamatest.New(t, modeltest.TextTurn("Four.")), "", c)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	got := sent(t, ollamatest.New(t, modeltest.TextTurn("Four.")), "?num_ctx=8192&keep_alive=30m", modeltest.Question())
	if diff := cmp.Diff(map[string]any{"num_ctx": 8192.0}, got["options"]); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if got["keep_alive"] != "30m0s" {
		t.Errorf("keep_alive %v, want 30m0s", got["keep_alive"])
	}
}

func TestThinkOption(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		can  []types.Capability
		want any
	}{
		{"a model that can reason", []types.Capability{types.CapabilityCompletion, types.CapabilityThinking}, false},
		{"a model that cannot reason", []types.Capability{types.CapabilityCompletion}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := ollamatest.New(t, modeltest.TextTurn("Four."))
			srv.SetModels(ollamatest.Info{Name: ollamatest.Model, Capabilities: row.can})
			if got := sent(t, srv, "", modeltest.Question())["think"]; got != row.want {
				t.Errorf("think %v, want %v", got, row.want)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		can     []types.Capability
		think   any
		predict float64
	}{
		{"a model that can reason has to", []types.Capability{types.CapabilityCompletion, types.CapabilityThinking},
			true, 400 + 2048},
		{"a model that cannot reason", []types.Capability{types.CapabilityCompletion, types.CapabilityTools},
			nil, 400},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := ollamatest.New(t, modeltest.TextTurn("{}"))
			srv.SetModels(ollamatest.Info{Name: ollamatest.Model, Capabilities: row.can})
			c := modeltest.Constrained()
			got := sent(t, srv, "", c)
			var want any
			if err := json.Unmarshal(c.Schema, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got["format"]); diff != "" {
				t.Errorf("format (-want +got):\n%s", diff)
			}
			options := map[string]any{"num_ctx": 16384.0, "temperature": 0.0, "num_predict": row.predict}
			if diff := cmp.Diff(options, got["options"]); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if got["tools"] != nil || got["think"] != row.think {
				t.Errorf("tools %v and think %v, want no tools and %v", got["tools"], got["think"], row.think)
			}
		})
	}
}

func TestSchemaErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"failed to load model vocabulary required for format", "invalid JSON schema in format"} {
		srv := ollamatest.New(t, modeltest.Turn{Status: 500, Error: text})
		_, err := modeltest.Collect(t.Context(), open(t, srv.URL()), modeltest.Constrained())
		modeltest.CheckError(t, err, nil, "cannot apply the schema of the message")
		modeltest.CheckError(t, err, nil, text)
	}
}

func TestAnswersOfSmallModels(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		count int
		size  string
		want  model.Answers
	}{
		{0, "", model.AnswersWritten},
		{1777088000, "", model.AnswersStated},
		{7248023552, "", model.AnswersWritten},
		{8030261248, "1.5B", model.AnswersWritten},
		{0, "1.5B", model.AnswersStated},
		{0, "630.17M", model.AnswersStated},
		{0, "70B", model.AnswersWritten},
		{0, "8x7B", model.AnswersWritten},
	} {
		srv := ollamatest.New(t)
		srv.SetModels(ollamatest.Info{Name: ollamatest.Model, ParameterCount: row.count, ParameterSize: row.size})
		if got, err := open(t, srv.URL()).Profile(t.Context()); err != nil || got.Answers != row.want {
			t.Errorf("%d parameters, size %q: profile %+v, %v, want %s", row.count, row.size, got, err, row.want)
		}
	}
}

// TestModelContextLimit: the server reduces num_ctx to the model's context.
func TestModelContextLimit(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, modeltest.Turn{Text: []string{"Four."}, PromptTokens: 2048})
	srv.SetModels(ollamatest.Info{Name: ollamatest.Model, Context: 2048})
	_, err := modeltest.Collect(t.Context(), open(t, srv.URL()), modeltest.Question())
	modeltest.CheckError(t, err, model.ErrTooLong, "2048 tokens")
}

func TestMalformedConversations(t *testing.T) {
	t.Parallel()
	tools := modeltest.Question()
	tools.Tools = []model.Tool{{Name: "a", Parameters: json.RawMessage(`[`)}}
	calls := modeltest.Question()
	calls.Messages = []model.Message{{Role: model.Assistant,
		Calls: []model.Call{{Name: "a", Input: json.RawMessage(`"x"`)}}}}
	m := open(t, ollamatest.New(t).URL())
	_, err := modeltest.Collect(t.Context(), m, tools)
	modeltest.CheckError(t, err, nil, "parameters of the tool a")
	_, err = modeltest.Collect(t.Context(), m, calls)
	modeltest.CheckError(t, err, nil, "input of the call of a")
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ url, message string }{
		{"ollama://localhost/qwen3:8b", ""},
		{"ollama:///qwen3", ""},
		{"ollama+https://models.example/hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M?num_ctx=4096&first_chunk=5s&keep_alive=-1s", ""},
		{"http://localhost/qwen3", `scheme "http"`},
		{"ollama://localhost", "name of a model"},
		{"ollama://localhost/a b", "name of a model"},
		{"ollama://user:secret@localhost/qwen3", "password"},
		{"ollama://localhost/qwen3?keep_alive=long", "keep_alive=long"},
		{"ollama://localhost/qwen3?plan=free", "plan=free: expected schema or tools"},
		{"ollama://localhost/qwen3?temperature=1", `setting "temperature"`},
	} {
		t.Run(row.url, func(t *testing.T) {
			t.Parallel()
			m, err := ollama.Open(t.Context(), row.url)
			switch {
			case row.message != "":
				modeltest.CheckError(t, err, nil, row.message)
			case err != nil:
				t.Error(err)
			case m.Name() != row.url:
				t.Errorf("name %q", m.Name())
			}
		})
	}
}
