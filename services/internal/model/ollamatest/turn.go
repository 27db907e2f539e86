package ollamatest

import (
	"encoding/json"
	"net/http"

	"github.com/ollama/ollama/api"
)

// Turn is what the server does with one chat request: it sends what the model
// thinks, its text piece by piece and its calls one by one, and then ends.
type Turn struct {
	Thinking string
	Text     []string
	Calls    []Call

	// Status, unless 0, is answered with Error instead of all that.
	Status int
	// Error alone is sent as the last line of a stream that breaks off.
	Error string

	End          End
	Reason       string // why the model ended; empty: "stop"
	PromptTokens int    // 0: 10
	// Gate, unless nil, is received from before each piece of text: the test
	// decides how slow the model is.
	Gate <-chan struct{}
}

// Call is a tool call of a model.
type Call struct {
	ID    string // empty: the server gives none
	Name  string
	Input string // a JSON object
}

// End is how a turn ends.
type End int

// The ends of a turn.
const (
	Done End = iota // completely
	Stop            // the stream ends in order, but without the last object
	Cut             // the connection is cut
	Hang            // silence, until the client leaves
)

// Say is a model that answers with text, in pieces.
func Say(pieces ...string) Turn { return Turn{Text: pieces} }

// Use is a model that calls a tool with input, a JSON object.
func Use(tool, input string) Turn {
	return Turn{Calls: []Call{{ID: "call_" + tool, Name: tool, Input: input}}}
}

// player plays a turn to one client.
type player struct {
	w      http.ResponseWriter
	model  string
	client <-chan struct{} // closed when the client has left
	close  <-chan struct{} // closed when the test ends
}

// play returns false when the client left before the end.
func (p player) play(t Turn) bool {
	if t.Status != 0 {
		fail(p.w, t.Status, t.Error)
		return true
	}
	p.w.Header().Set("Content-Type", "application/x-ndjson")
	if t.Thinking != "" {
		p.message(api.Message{Thinking: t.Thinking})
	}
	for _, text := range t.Text {
		if t.Gate != nil && !p.wait(t.Gate) {
			return false
		}
		p.message(api.Message{Content: text})
	}
	for i, c := range t.Calls {
		call, _ := c.wire(i) // New has seen to the error
		p.message(api.Message{ToolCalls: []api.ToolCall{call}})
	}
	return p.end(t)
}

func (p player) end(t Turn) bool {
	switch {
	case t.Error != "":
		send(p.w, map[string]string{"error": t.Error})
	case t.End == Hang:
		return p.wait(nil)
	case t.End == Cut:
		panic(http.ErrAbortHandler)
	case t.End == Done:
		p.done(t)
	}
	return true
}

func (p player) done(t Turn) {
	r := api.ChatResponse{Model: p.model, Message: api.Message{Role: "assistant"}, Done: true, DoneReason: t.Reason}
	if r.DoneReason == "" {
		r.DoneReason = "stop"
	}
	r.PromptEvalCount = t.PromptTokens
	if r.PromptEvalCount == 0 {
		r.PromptEvalCount = 10
	}
	r.EvalCount = len(t.Text) + len(t.Calls) + 1
	send(p.w, r)
}

// wait returns true when it has received from gate, false when the client or
// the test is over.
func (p player) wait(gate <-chan struct{}) bool {
	select {
	case <-gate:
		return true
	case <-p.client:
	case <-p.close:
	}
	return false
}

func (p player) message(m api.Message) {
	m.Role = "assistant"
	send(p.w, api.ChatResponse{Model: p.model, Message: m})
}

func (c Call) wire(index int) (api.ToolCall, error) {
	f := api.ToolCallFunction{Index: index, Name: c.Name}
	err := json.Unmarshal([]byte(c.Input), &f.Arguments)
	return api.ToolCall{ID: c.ID, Function: f}, err
}

// send writes a line and flushes it. An error means that the client has left,
// which the request's context tells as well.
func send(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v)
	_ = http.NewResponseController(w).Flush()
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	send(w, map[string]string{"error": text})
}
