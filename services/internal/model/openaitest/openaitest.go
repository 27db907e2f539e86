// Package openaitest is an endpoint like OpenAI's that plays a script, for
// tests whose client is the real one. What it sends, faults included, is in the
// form of vLLM and llama.cpp.
package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cairn/services/internal/model/modeltest"
)

// Model is the name of the model that a server has at first.
const Model = "scripted/model"

// Server answers each chat request with the next turn of its script. It may be
// used concurrently.
type Server struct {
	t     testing.TB
	http  *httptest.Server
	left  chan struct{}
	close chan struct{} // closed when the server ends

	mu       sync.Mutex
	script   []modeltest.Turn
	models   []json.RawMessage
	requests []Request
}

// Request is a chat request.
type Request struct {
	Header http.Header
	Body   json.RawMessage
}

// New starts a server, which ends with the test. A request for which the
// script has no turn left fails the test.
func New(t testing.TB, script ...modeltest.Turn) *Server {
	t.Helper()
	s := &Server{t: t, close: make(chan struct{}), left: make(chan struct{}, 64), script: script}
	s.SetModels(`{"id":"` + Model + `","object":"model"}`)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("GET /v1/models", s.list)
	s.http = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(s.close)
		s.http.Close()
	})
	return s
}

// URL is the model's, for openai.Open; settings may be added to it.
func (s *Server) URL() string {
	return "openai://" + strings.TrimPrefix(s.http.URL, "http://") + "/" + Model
}

// SetModels replaces what the server tells of its models, a JSON object each.
func (s *Server) SetModels(models ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = nil
	for _, m := range models {
		s.models = append(s.models, json.RawMessage(m))
	}
}

// Requests are the chat requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Left receives once for every client that left while its turn hung or waited
// at its gate.
func (s *Server) Left() <-chan struct{} { return s.left }

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": s.models}) // the client has left
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	turn, ok := s.next(Request{r.Header, body})
	if !ok {
		s.t.Errorf("openaitest: a chat request, and the script is over")
		fail(w, http.StatusInternalServerError, "the script is over")
		return
	}
	p := player{w: w, client: r.Context().Done(), close: s.close}
	if !p.play(turn) {
		select {
		case s.left <- struct{}{}:
		default: // nobody counts so many
		}
	}
}

func (s *Server) next(req Request) (turn modeltest.Turn, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	if len(s.script) == 0 {
		return turn, false
	}
	turn, s.script = s.script[0], s.script[1:]
	return turn, true
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"error","code":%d}}`, text, status)
}
