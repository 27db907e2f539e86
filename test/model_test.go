package test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// script is a question that controls the scripted model. The model keeps
// no state, so all systems share one.
type script struct {
	Calls  []toolCall `json:"calls,omitempty"`  // calls these tools first, in one message
	Repeat string     `json:"repeat,omitempty"` // calls this tool in every round
	Say    string     `json:"say,omitempty"`    // then sends this, one word per message
	Tell   bool       `json:"tell,omitempty"`   // then sends the conversation that it received, as JSON
	Await  string     `json:"await,omitempty"`  // then waits until the word is released
	Fail   string     `json:"fail,omitempty"`   // and ends with this error
}

type toolCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// scriptedModel is an Ollama server that follows scripts.
type scriptedModel struct {
	http *httptest.Server
	url  string
	once sync.Once
	// Signals by word of Await.
	received, canceled, released signals
}

var theModel scriptedModel

// modelURL returns the model URL of a setup.
func modelURL(c setup) string {
	switch c.model {
	case "":
		return "offline:"
	case "scripted":
		theModel.once.Do(func() { theModel.http, theModel.url = cairntest.StartModel(theModel.chat) })
		return theModel.url
	default:
		return c.model
	}
}

func endModel() {
	if theModel.http != nil {
		theModel.http.Close()
	}
}

// chatMessage is a message of a conversation.
type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chat follows the script in the last user message.
func (m *scriptedModel) chat(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []chatMessage   `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, `{"error":"no conversation"}`, http.StatusBadRequest)
		return
	}
	var s script
	used := false
	for _, message := range req.Messages {
		switch message.Role {
		case "user":
			s, used = script{}, false
			_ = json.Unmarshal([]byte(message.Content), &s) // a question that is not a script yields an empty script
		case "tool":
			used = true
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	switch {
	case s.Repeat != "":
		m.call(w, []toolCall{{s.Repeat, map[string]any{"data_key": "items"}}})
	case len(s.Calls) > 0 && !used:
		m.call(w, s.Calls)
	default:
		m.answer(w, r, s, req.Messages)
	}
}

func (m *scriptedModel) call(w http.ResponseWriter, calls []toolCall) {
	var list []any
	for i, c := range calls {
		list = append(list, map[string]any{"function": map[string]any{"index": i, "name": c.Name, "arguments": c.Arguments}})
	}
	cairntest.WriteLine(w, map[string]any{"message": map[string]any{"role": "assistant", "tool_calls": list}})
	done(w)
}

func (m *scriptedModel) answer(w http.ResponseWriter, r *http.Request, s script, messages []chatMessage) {
	for _, piece := range strings.SplitAfter(s.Say, " ") {
		writeText(w, piece)
	}
	if s.Tell {
		writeText(w, text(messages))
	}
	if s.Await != "" {
		m.received.set(s.Await)
		select {
		case <-m.released.channel(s.Await):
			writeText(w, "released")
		case <-r.Context().Done():
			m.canceled.set(s.Await)
			return
		}
	}
	if s.Fail != "" {
		cairntest.WriteLine(w, map[string]any{"error": s.Fail})
		return
	}
	done(w)
}

func writeText(w http.ResponseWriter, text string) {
	if text != "" {
		cairntest.WriteLine(w, map[string]any{"message": chatMessage{"assistant", text}})
	}
}

func done(w http.ResponseWriter) {
	cairntest.WriteLine(w, map[string]any{"message": chatMessage{"assistant", ""}, "done": true, "done_reason": "stop",
		"prompt_eval_count": 10,
		"eval_count":        5})
}

// signals are one-time events by name.
type signals struct {
	mu    sync.Mutex
	given map[string]chan struct{}
}

// channel returns a channel that is closed when the event occurs.
func (s *signals) channel(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given == nil {
		s.given = map[string]chan struct{}{}
	}
	if s.given[name] == nil {
		s.given[name] = make(chan struct{})
	}
	return s.given[name]
}

func (s *signals) set(name string) {
	occurred := s.channel(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-occurred:
	default:
		close(occurred)
	}
}

// await waits for the event.
func (s *signals) await(t testing.TB, limit time.Duration, name, sentence string) {
	t.Helper()
	select {
	case <-s.channel(name):
	case <-time.After(limit):
		t.Fatalf("not within %v: %s", limit, sentence)
	}
}
