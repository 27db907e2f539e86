package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"cairn/services/internal/model/modeltest"
)

// player sends a turn to one client.
type player struct {
	w      http.ResponseWriter
	client <-chan struct{} // closed when the client disconnects
	close  <-chan struct{} // closed when the test ends
}

type object = map[string]any

// play returns false if the client disconnects before the end.
func (p player) play(t modeltest.Turn) bool {
	if t.Status != 0 {
		fail(p.w, t.Status, t.Error)
		return true
	}
	p.w.Header().Set("Content-Type", "text/event-stream")
	if t.Thinking != "" {
		p.delta(object{"reasoning_content": t.Thinking})
	}
	for _, text := range t.Text {
		if t.Gate != nil && !modeltest.Wait(t.Gate, p.client, p.close) {
			return false
		}
		p.delta(object{"content": text})
	}
	for i, c := range t.Calls {
		p.call(i, c)
	}
	return p.end(t)
}

// call sends a call in several chunks, as servers do: its name, then its input in pieces.
func (p player) call(index int, c modeltest.Call) {
	p.delta(object{"tool_calls": []object{{"index": index, "id": c.ID, "type": "function",
		"function": object{"name": c.Name, "arguments": ""}}}})
	half := len(c.Input) / 2
	for _, piece := range []string{c.Input[:half], c.Input[half:]} {
		p.delta(object{"tool_calls": []object{{"index": index, "function": object{"arguments": piece}}}})
	}
}

func (p player) end(t modeltest.Turn) bool {
	switch {
	case t.Error != "":
		p.send(object{"error": object{"message": t.Error}})
	case t.End == modeltest.Hang:
		p.flush()
		return modeltest.Wait(nil, p.client, p.close)
	case t.End == modeltest.Cut:
		p.flush()
		panic(http.ErrAbortHandler)
	case t.End == modeltest.Done:
		p.chunk(object{}, cmp.Or(t.Reason, "stop"))
		p.send(object{"object": "chat.completion.chunk", "choices": []object{},
			"usage": object{"prompt_tokens": t.Prompt(), "completion_tokens": t.AnswerTokens()}})
		_, _ = fmt.Fprint(p.w, "data: [DONE]\n\n") // fails only if the client has disconnected
	}
	return true
}

func (p player) delta(delta object) { p.chunk(delta, nil) }

func (p player) chunk(delta object, reason any) {
	p.send(object{"object": "chat.completion.chunk", "model": Model,
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}}})
}

// send writes an event. It ignores errors: a disconnected client also cancels the
// request's context.
func (p player) send(event object) {
	data, err := json.Marshal(event)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	_, _ = fmt.Fprintf(p.w, "data: %s\n\n", data)
	p.flush()
}

func (p player) flush() { _ = http.NewResponseController(p.w).Flush() }
