package ollama_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/ollama"
	"cairn/test/wait"
)

// real opens a model of the server at CAIRN_TEST_OLLAMA, an http URL. The server's models
// play fixed scripts and were built with this num_ctx.
func real(t *testing.T, name string) *ollama.Model {
	t.Helper()
	return open(t, "ollama://"+realHost(t)+"/"+name+"?first_chunk=20s&num_ctx=8192")
}

func realHost(t *testing.T) string {
	t.Helper()
	url := os.Getenv("CAIRN_TEST_OLLAMA")
	if url == "" {
		t.Skip("needs CAIRN_TEST_OLLAMA, the URL of an Ollama server with the scripted models")
	}
	return strings.TrimPrefix(url, "http://")
}

func scripted(text string) model.Conversation {
	tool := func(name string) model.Tool {
		return model.Tool{Name: name, Description: "A tool.", Parameters: modeltest.Question().Tools[0].Parameters}
	}
	return model.Conversation{
		Rules:    "You answer questions.",
		Messages: []model.Message{{Role: model.User, Text: text}},
		Tools:    []model.Tool{tool("inspect_schema"), tool("compute_stats")},
	}
}

func TestRealToolLoop(t *testing.T) {
	t.Parallel()
	m := real(t, "scripted")
	c := scripted("what is the cpu usage?")
	var tools []string
	for range 5 {
		got, err := modeltest.Collect(t.Context(), m, c)
		if err != nil {
			t.Fatal(err)
		}
		if got.Usage == nil || got.Usage.PromptTokens == 0 || got.Usage.AnswerTokens == 0 {
			t.Errorf("usage %+v", got.Usage)
		}
		if len(got.Calls) == 0 {
			if !strings.HasPrefix(got.Text, "I looked at the schema") || !strings.HasSuffix(got.Text, "stands out.") {
				t.Errorf("final answer %q", got.Text)
			}
			break
		}
		call := got.Calls[0]
		tools = append(tools, call.Name)
		c.Messages = append(c.Messages,
			model.Message{Role: model.Assistant, Text: got.Text, Calls: got.Calls},
			model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Name, Result: json.RawMessage(`{"count":4}`)})
	}
	if diff := cmp.Diff([]string{"inspect_schema", "compute_stats"}, tools); diff != "" {
		t.Errorf("tools called (-want +got):\n%s", diff)
	}
}

func TestRealParallelCalls(t *testing.T) {
	t.Parallel()
	got, err := modeltest.Collect(t.Context(), real(t, "scripted"), scripted("/parallel"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(got.Text) != "Both at once." || len(got.Calls) != 2 ||
		string(got.Calls[0].Input) != `{"data_key":"alpha"}` || got.Calls[1].Name != "compute_stats" ||
		got.Calls[0].ID == got.Calls[1].ID {
		t.Errorf("got %+v, want a text and two calls", got)
	}
}

func TestRealUnicode(t *testing.T) {
	t.Parallel()
	got, err := modeltest.Collect(t.Context(), real(t, "scripted"), scripted("/unicode"))
	if want := "Grüße aus Köln: 12 €, 日本語, 👩‍💻 и всё."; err != nil || got.Text != want {
		t.Errorf("%q, %v; want %q", got.Text, err, want)
	}
}

func TestRealThinkingIsOff(t *testing.T) {
	t.Parallel()
	got, err := modeltest.Collect(t.Context(), real(t, "scripted-think"), scripted("hello"))
	if err != nil || !strings.HasPrefix(got.Text, "The table has four rows") || len(got.Calls) > 0 {
		t.Errorf("%+v, %v; want the plain text", got, err)
	}
}

func TestRealFailures(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, model, query string
		target             error
		message            string
	}{
		{"no such model", "absent", "hi", model.ErrUnavailable, "not found"},
		{"a model for embeddings", "scripted-embed", "hi", model.ErrUnavailable, "does not support"},
		{"an empty answer, twice", "scripted", "/empty", nil, "an empty answer"},
		{"a call of an unknown tool, twice", "scripted", "/unknown_tool", nil, "an empty answer"},
		{"a call with malformed JSON, twice", "scripted", "/bad_json", nil, "an empty answer"},
		{"a stream without done", "scripted", "/stuck", nil, "before its last part"},
		{"a prompt that is too long", "scripted", strings.Repeat("forty words about nothing in particular ", 2000),
			model.ErrTooLong,
			"context length"},
		{"an answer that is too long", "scripted", "/loop", nil, "cut off at its token limit"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := modeltest.Collect(t.Context(), real(t, row.model), scripted(row.query))
			modeltest.CheckError(t, err, row.target, row.message)
		})
	}
}

// TestRealHistoryTooLong: by default the server would drop the oldest messages silently.
func TestRealHistoryTooLong(t *testing.T) {
	t.Parallel()
	c := scripted("the last question")
	for range 60 {
		c.Messages = append([]model.Message{
			{Role: model.User, Text: strings.Repeat("an old question ", 30)},
			{Role: model.Assistant, Text: strings.Repeat("an old answer ", 30)},
		}, c.Messages...)
	}
	_, err := modeltest.Collect(t.Context(), real(t, "scripted"), c)
	modeltest.CheckError(t, err, model.ErrTooLong, "context length")
}

func TestRealCheck(t *testing.T) {
	t.Parallel()
	if err := real(t, "scripted").Check(t.Context()); err != nil {
		t.Error(err)
	}
	modeltest.CheckError(t, real(t, "absent").Check(t.Context()), model.ErrUnavailable, "not found")
	modeltest.CheckError(t, real(t, "scripted-embed").Check(t.Context()), model.ErrUnavailable, "cannot chat")
}

func TestRealFind(t *testing.T) {
	t.Parallel()
	var url string
	wait.Until(t, "the server is found", func() (ok bool) { // a busy server may exceed the timeout of Find
		url, ok = ollama.Find(t.Context(), realHost(t))
		return ok
	})
	if err := open(t, url).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRealDisconnectStopsModel(t *testing.T) {
	t.Parallel()
	m := open(t, "ollama://"+realHost(t)+"/scripted-slow-loop?first_chunk=20s&num_ctx=2048")
	// The disconnect may lose a slot; unloading frees it.
	defer unload(t, "scripted-slow-loop")
	for _, err := range m.Next(t.Context(), scripted("hello")) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	// The first answer would take minutes. A server that evicts the model for another
	// one waits 5 seconds for it.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for part, err := range m.Next(ctx, scripted("hello")) {
		if err != nil || part.Text == "" {
			t.Errorf("%+v, %v; want text", part, err)
		}
		break
	}
}

func unload(t *testing.T, name string) {
	body := []byte(`{"model":"` + name + `","keep_alive":0}`)
	res, err := http.Post("http://"+realHost(t)+"/api/chat", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}
