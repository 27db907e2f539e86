// Package openaitest is an OpenAI-compatible endpoint that plays a script, for tests of
// the real client. Its responses, including faults, have the form of vLLM and llama.cpp.
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

// Model is the name of a new server's model.
const Model = "scripted/model"

// Server responds to each chat request with the next turn of its script. It is safe for
// concurrent use.
type Server struct {
	*modeltest.Script[Request]
	t     testing.TB
	http  *httptest.Server
	close chan struct{} // closed at the end of the test

	mu     sync.Mutex
	models []json.RawMessage
	noList int // status of the response to a request for the list of models; 0: the list
}

// Request is a chat request.
type Request struct {
	Header http.Header
	Body   json.RawMessage
}

// New starts a server and stops it at the end of the test. A request beyond the end of
// the script fails the test.
func New(t testing.TB, script ...modeltest.Turn) *Server {
	t.Helper()
	s := &Server{Script: modeltest.NewScript[Request](script), t: t, close: make(chan struct{})}
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

// URL returns the model's URL for openai.Open, without settings.
func (s *Server) URL() string {
	return "openai://" + strings.TrimPrefix(s.http.URL, "http://") + "/" + Model
}

// SetModels replaces the list of models, a JSON object each.
func (s *Server) SetModels(models ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = nil
	for _, m := range models {
		s.models = append(s.models, json.RawMessage(m))
	}
}

// RemoveList replaces the list of models by an error with this status.
func (s *Server) RemoveList(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noList = status
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noList != 0 {
		fail(w, s.noList, "no such path")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// fails only if the client has disconnected
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": s.models})
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	turn, ok := s.Next(Request{r.Header, body})
	if !ok {
		s.t.Errorf("openaitest: a chat request is beyond the end of the script")
		fail(w, http.StatusInternalServerError, "end of script")
		return
	}
	p := player{w: w, client: r.Context().Done(), close: s.close}
	if !p.play(turn) {
		s.Disconnect()
	}
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"error","code":%d}}`, text, status)
}
