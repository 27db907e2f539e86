package ollamatest

import (
	"encoding/json"
	"net/http"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model/modeltest"
)

// player sends a turn to one client.
type player struct {
	w      http.ResponseWriter
	model  string
	client <-chan struct{} // closed when the client disconnects
	close  <-chan struct{} // closed when the test ends
}

// play returns false if the client disconnects before the end.
func (p player) play(t modeltest.Turn) bool {
	if t.Status != 0 {
		fail(p.w, t.Status, t.Error)
		return true
	}
	p.w.Header().Set("Content-Type", "application/x-ndjson")
	if t.Thinking != "" {
		p.message(api.Message{Thinking: t.Thinking})
	}
	for _, text := range t.Text {
		if t.Gate != nil && !modeltest.Wait(t.Gate, p.client, p.close) {
			return false
		}
		p.message(api.Message{Content: text})
	}
	for i, c := range t.Calls {
		call, _ := wire(c, i) // checked by New
		p.message(api.Message{ToolCalls: []api.ToolCall{call}})
	}
	return p.end(t)
}

func (p player) end(t modeltest.Turn) bool {
	switch {
	case t.Error != "":
		send(p.w, map[string]string{"error": t.Error})
	case t.End == modeltest.Hang:
		return modeltest.Wait(nil, p.client, p.close)
	case t.End == modeltest.Cut:
		panic(http.ErrAbortHandler)
	case t.End == modeltest.Done:
		p.done(t)
	}
	return true
}

func (p player) done(t modeltest.Turn) {
	r := api.ChatResponse{Model: p.model, Message: api.Message{Role: "assistant"}, Done: true, DoneReason: t.Reason}
	if r.DoneReason == "" {
		r.DoneReason = "stop"
	}
	r.PromptEvalCount, r.EvalCount = t.Prompt(), t.AnswerTokens()
	send(p.w, r)
}

func (p player) message(m api.Message) {
	m.Role = "assistant"
	send(p.w, api.ChatResponse{Model: p.model, Message: m})
}

func wire(c modeltest.Call, index int) (api.ToolCall, error) {
	f := api.ToolCallFunction{Index: index, Name: c.Name}
	err := json.Unmarshal([]byte(c.Input), &f.Arguments)
	return api.ToolCall{ID: c.ID, Function: f}, err
}

// send writes a line and flushes it. It ignores errors: a disconnected client also
// cancels the request's context.
func send(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v)
	_ = http.NewResponseController(w).Flush()
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	send(w, map[string]string{"error": text})
}
