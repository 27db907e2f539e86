package test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is a question to the scripted model: what it is to do. It does the
// same wherever it runs, so that all systems can share one.
type script struct {
	Calls  []toolCall `json:"calls,omitempty"`  // first these, in one message
	Repeat string     `json:"repeat,omitempty"` // calls this tool again and again
	Say    string     `json:"say,omitempty"`    // then this, a word a piece
	Tell   bool       `json:"tell,omitempty"`   // then all that it was told, as JSON
	Await  string     `json:"await,omitempty"`  // then nothing until the word is released
	Fail   string     `json:"fail,omitempty"`   // and at the end this error
}

type toolCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// scriptedModel stands where an Ollama server would.
type scriptedModel struct {
	http *httptest.Server
	once sync.Once
	// What happens to the words of Await.
	heard, left, released signals
}

var theModel scriptedModel

// modelURL is the model of a setup.
func modelURL(c setup) string {
	switch c.model {
	case "":
		return "offline:"
	case "scripted":
		theModel.once.Do(func() {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
				line(w, map[string]any{"model_info": map[string]any{}, "capabilities": []string{"completion", "tools"}})
			})
			mux.HandleFunc("POST /api/chat", theModel.chat)
			theModel.http = httptest.NewServer(mux)
		})
		return "ollama://" + strings.TrimPrefix(theModel.http.URL, "http://") + "/scripted"
	default:
		return c.model
	}
}

func endModel() {
	if theModel.http != nil {
		theModel.http.Close()
	}
}

// utterance is one message of a conversation.
type utterance struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chat plays the script of the last question.
func (m *scriptedModel) chat(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []utterance     `json:"messages"`
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
			_ = json.Unmarshal([]byte(message.Content), &s) // another question asks for nothing
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
	line(w, map[string]any{"message": map[string]any{"role": "assistant", "tool_calls": list}})
	done(w)
}

func (m *scriptedModel) answer(w http.ResponseWriter, r *http.Request, s script, told []utterance) {
	for _, piece := range strings.SplitAfter(s.Say, " ") {
		speak(w, piece)
	}
	if s.Tell {
		speak(w, text(told))
	}
	if s.Await != "" {
		m.heard.give(s.Await)
		select {
		case <-m.released.of(s.Await):
			speak(w, "released")
		case <-r.Context().Done():
			m.left.give(s.Await)
			return
		}
	}
	if s.Fail != "" {
		line(w, map[string]any{"error": s.Fail})
		return
	}
	done(w)
}

func speak(w http.ResponseWriter, text string) {
	if text != "" {
		line(w, map[string]any{"message": utterance{"assistant", text}})
	}
}

func done(w http.ResponseWriter) {
	line(w, map[string]any{"message": utterance{"assistant", ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5})
}

// line sends v; a client that left is seen by its context.
func line(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v)
	_ = http.NewResponseController(w).Flush()
}

// signals are facts by name, each given once.
type signals struct {
	mu    sync.Mutex
	given map[string]chan struct{}
}

// of closes once the fact is given.
func (s *signals) of(name string) chan struct{} {
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

func (s *signals) give(name string) {
	fact := s.of(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-fact:
	default:
		close(fact)
	}
}

// within waits for the fact of the name.
func (s *signals) within(t testing.TB, limit time.Duration, name, what string) {
	t.Helper()
	select {
	case <-s.of(name):
	case <-time.After(limit):
		t.Fatalf("not within %v: %s", limit, what)
	}
}
