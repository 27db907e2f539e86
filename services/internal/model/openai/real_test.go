package openai_test

import (
	"os"
	"strings"
	"testing"

	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
)

// TestRealEndpoint calls a scripted model through the OpenAI-compatible API of an Ollama
// server.
func TestRealEndpoint(t *testing.T) {
	t.Parallel()
	server := os.Getenv("CAIRN_TEST_OLLAMA")
	if server == "" {
		t.Skip("needs CAIRN_TEST_OLLAMA, the URL of an Ollama server with the scripted models")
	}
	m := open(t, "openai://"+strings.TrimPrefix(server, "http://")+"/scripted:latest")
	if err := m.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := modeltest.Question()
	c.Messages[0].Text = "what is the cpu usage?"
	c.Tools = append(c.Tools,
		model.Tool{Name: "compute_stats", Description: "Computes.", Parameters: c.Tools[0].Parameters})
	for range 5 {
		got, err := modeltest.Collect(t.Context(), m, c)
		if err != nil {
			t.Fatal(err)
		}
		if got.Usage == nil || got.Usage.PromptTokens == 0 || got.Usage.AnswerTokens == 0 {
			t.Errorf("usage %+v", got.Usage)
		}
		if len(got.Calls) == 0 {
			if !strings.HasSuffix(got.Text, "stands out.") {
				t.Errorf("final answer %q", got.Text)
			}
			return
		}
		c.Messages = append(c.Messages, model.Message{Role: model.Assistant, Text: got.Text, Calls: got.Calls})
		for _, call := range got.Calls {
			c.Messages = append(c.Messages, model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Name,
				Result: []byte(`{"groups":{},"total":91.5}`)})
		}
	}
	t.Error("no answer after 5 turns")
}
