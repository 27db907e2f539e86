package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/openai"
	"cairn/services/internal/model/openaitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string) *openai.Model {
	t.Helper()
	m, err := openai.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Conform(t, func(t *testing.T, settings string, script ...modeltest.Turn) modeltest.Scripted {
		srv := openaitest.New(t, script...)
		return modeltest.Scripted{
			Model:       open(t, srv.URL()+settings),
			Requests:    func() int { return len(srv.Requests()) },
			Disconnects: srv.Disconnects(),
		}
	})
}

func TestRequest(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	srv := openaitest.New(t, modeltest.TextTurn("Four."))
	c := modeltest.Question()
	c.Messages = append(c.Messages,
		model.Message{Role: model.Assistant, Text: "I look.",
			Calls: []model.Call{{ID: "c1", Name: "inspect_schema", Input: json.RawMessage(`{"data_key":"servers"}`)}}},
		model.Message{Role: model.ToolRole, CallID: "c1", Tool: "inspect_schema", Result: json.RawMessage(`{"count":4}`)})
	if _, err := modeltest.Collect(t.Context(), open(t, srv.URL()), c); err != nil {
		t.Fatal(err)
	}
	want := `{
		"model": "scripted/model",
		"messages": [
			{"role": "system", "content": "You answer questions."},
			{"role": "user", "content": "How many servers are there?"},
			{"role": "assistant", "content": "I look.", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "inspect_schema", "arguments": "{\"data_key\":\"servers\"}"}}]},
			{"role": "tool", "content": "{\"count\":4}", "tool_call_id": "c1"}],
		"tools": [{"type": "function", "function": {"name": "inspect_schema", "description": "Describes an array.",
			"parameters": {"type": "object", "required": ["data_key"], "properties": {"data_key": {"type": "string"}}}}}],
		"stream": true,
		"stream_options": {"include_usage": true}}`
	sent := srv.Requests()[0]
	if diff := cmp.Diff(decoded(t, want), decoded(t, string(sent.Body))); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if got := sent.Header.Get("Authorization"); got != "Bearer secret" {
		t.Errorf("authorization %q, want the key from the environment", got)
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"openai://", "openai://host", "openai:///model", "https://host/model", "openai://key@host/model",
		"openai://host/model?num_ctx=many", "openai://host/model?first_chunk=0s", "openai://host/model?temperature=1",
		"openai://host:x/model",
		"openai://host/model?plan=free", "openai://host/model?answers=short",
	} {
		if _, err := openai.Open(t.Context(), url); err == nil {
			t.Errorf("%s: want an error", url)
		}
	}
}

func TestServerUnavailable(t *testing.T) {
	t.Parallel()
	m := open(t, "openai://127.0.0.1:1/model")
	_, err := modeltest.Collect(t.Context(), m, modeltest.Question())
	modeltest.CheckError(t, err, model.ErrUnavailable, "refused")
	modeltest.CheckError(t, m.Check(t.Context()), model.ErrUnavailable, "refused")
}

func TestStalledServer(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t, modeltest.Turn{End: modeltest.Hang})
	_, err := modeltest.Collect(t.Context(), open(t, srv.URL()+"?num_ctx=512&first_chunk=50ms"),
		model.Conversation{Messages: []model.Message{{Role: model.User, Text: "Hi"}}})
	modeltest.CheckError(t, err, model.ErrUnavailable, "no data")
}

func TestCheckListsModels(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	if err := open(t, srv.URL()).Check(t.Context()); err != nil {
		t.Error(err)
	}
	srv.SetModels(`{"id":"other"}`, `{"id":"another"}`)
	modeltest.CheckError(t, open(t, srv.URL()).Check(t.Context()), model.ErrUnavailable, "available: other, another")
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented} {
		srv.RemoveList(status)
		if err := open(t, srv.URL()).Check(t.Context()); err != nil {
			t.Errorf("without a list of models, status %d: %v", status, err)
		}
	}
	srv.RemoveList(http.StatusUnauthorized)
	modeltest.CheckError(t, open(t, srv.URL()).Check(t.Context()), model.ErrUnavailable, "401")
}

// TestUnlistedModel: gateways serve models that they do not list.
func TestUnlistedModel(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*openaitest.Server){
		"a list of other models": func(s *openaitest.Server) { s.SetModels(`{"id":"other"}`) },
		"no list of models":      func(s *openaitest.Server) { s.RemoveList(http.StatusNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := openaitest.New(t, modeltest.TextTurn("Four."))
			remove(srv)
			m := open(t, srv.URL())
			if got, err := m.Profile(t.Context()); err != nil || got.Window != 0 {
				t.Errorf("profile %+v, %v, want an unknown window", got, err)
			}
			if got, err := modeltest.Collect(t.Context(), m, modeltest.Question()); err != nil || got.Text != "Four." {
				t.Errorf("message %q, %v", got.Text, err)
			}
		})
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]int{
		`"max_model_len":4096`: 4096, `"max_context_length":4097`: 4097, `"context_window":4098`: 4098,
		`"context_length":4099`:        4099,
		`"meta":{"n_ctx_train":40960}`: 40960, `"meta":{"n_ctx":8192,"n_ctx_train":40960}`: 8192, `"owned_by":"me"`: 0,
		`"context_length":"many"`: 0,
	} {
		srv := openaitest.New(t)
		srv.SetModels(`{"id":"` + openaitest.Model + `",` + row + `}`)
		if got, err := open(t, srv.URL()).Profile(t.Context()); err != nil || got.Window != want {
			t.Errorf("%s: profile %+v, %v, want %d", row, got, err, want)
		}
		if got, err := open(t, srv.URL()+"?num_ctx=77").Profile(t.Context()); err != nil || got.Window != 77 {
			t.Errorf("%s: profile %+v, %v, want the setting", row, got, err)
		}
	}
}

func TestCallsWithoutInput(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t, modeltest.ToolTurn("a", ""))
	got, err := modeltest.Collect(t.Context(), open(t, srv.URL()), modeltest.Question())
	if err != nil || len(got.Calls) != 1 || string(got.Calls[0].Input) != "{}" {
		t.Errorf("calls %+v, %v, want one with an object as input", got.Calls, err)
	}
}

// TestRepeatedUsage: a server repeats the counts of tokens so far in each chunk.
func TestRepeatedUsage(t *testing.T) {
	t.Parallel()
	var stream strings.Builder
	for n := range 10 {
		fmt.Fprintf(&stream, `data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":400,"completion_tokens":%d}}`+"\n\n", n+1)
	}
	stream.WriteString(`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n")
	got, err := modeltest.Collect(t.Context(), serve(t, http.StatusOK, stream.String()), modeltest.Question())
	if err != nil || got.Usage == nil || got.Usage.PromptTokens != 400 || got.Usage.AnswerTokens != 10 {
		t.Errorf("got %+v, %v, want 400 and 10 tokens", got.Usage, err)
	}
}

// serve starts a server whose chat endpoint responds with a fixed status and body.
func serve(t *testing.T, status int, body string) *openai.Model {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return open(t, "openai://"+strings.TrimPrefix(srv.URL, "http://")+"/model?num_ctx=512")
}

func TestStreamDialects(t *testing.T) {
	t.Parallel()
	const finish = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	for name, row := range map[string]struct{ stream, want string }{
		"content of an unexpected type is skipped": {`data: {"choices":[{"delta":{"content":[{"type":"thinking"}]}}]}` +
			"\n\n" +
			`data: {"choices":[{"delta":{"content":"Four."}}]}` + "\n\n" + finish, "Four."},
		"a null error is not an error": {`data: {"error":null,"choices":[{"delta":{"content":"Four."}}]}` + "\n\n" + finish,
			"Four."},
		"lines end with CRLF": {strings.ReplaceAll(`data: {"choices":[{"delta":{"content":"Four."}}]}`+"\n\n"+finish, "\n",
			"\r\n"), "Four."},
		"comments are skipped": {": keep-alive\n\n" + `data: {"choices":[{"delta":{"content":"Four."}}]}` + "\n\n" + finish,
			"Four."},
		"chunks after DONE are ignored": {`data: {"choices":[{"delta":{"content":"Four."}}]}` + "\n\n" + finish +
			"data: [DONE]\n\ndata: {\n\n",
			"Four."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := modeltest.Collect(t.Context(), serve(t, http.StatusOK, row.stream), modeltest.Question())
			if err != nil || got.Text != row.want {
				t.Errorf("message %q, %v, want %q", got.Text, err, row.want)
			}
		})
	}
}

func TestStatusErrors(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status     int
		body, want string
		target     error
	}{
		"a JSON error": {400, `{"error":{"message":"bad tool","code":400}}`, "status 400: bad tool", nil},
		"a code names the reason": {400, `{"error":{"message":"too many tokens","code":"context_length_exceeded"}}`,
			"too many tokens",
			model.ErrTooLong},
		"an error that is a string": {503, `{"error":"loading"}`, `status 503: {"error":"loading"}`, model.ErrUnavailable},
		"a body that is not JSON":   {502, "<h1>Bad Gateway</h1>", "status 502: <h1>Bad Gateway</h1>", model.ErrUnavailable},
		"no body":                   {401, "", "status 401: Unauthorized", model.ErrUnavailable},
		"a body larger than 64 KB":  {500, strings.Repeat("x", 1<<20), "status 500: xxx", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := modeltest.Collect(t.Context(), serve(t, row.status, row.body), modeltest.Question())
			modeltest.CheckError(t, err, row.target, row.want)
			if len(err.Error()) > 1000 {
				t.Errorf("error of %d bytes, want an excerpt of the body", len(err.Error()))
			}
		})
	}
}
