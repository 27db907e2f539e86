// Package ollamatest is an Ollama server with scripted replies, for tests of the real
// client. Its responses, including faults, were observed from Ollama v0.17.4.
package ollamatest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"

	"cairn/services/internal/model/modeltest"
)

// Model is the name of a new server's model.
const Model = "scripted:latest"

// Info describes a model of the server.
type Info struct {
	Name         string
	Size         int64 // bytes
	Capabilities []ollama.Capability
	Context      int    // tokens; 0: not reported
	RemoteHost   string // the cloud host that runs the model; empty: none
	Digest       string // of the manifest
	Tokenizer    string // "bert" is a word-piece tokenizer; empty: not reported
	Parameters   string // lines of a name and a value
	Dimensions   int    // of vectors; 0: 64

	ParameterCount int    // 0: not reported
	ParameterSize  string // such as 1.5B; empty: not reported
}

// tooLong counts words as tokens. Truncate does not prevent the error: the server itself
// sometimes fails on a text that it should truncate.
func (i Info) tooLong(req api.EmbedRequest, texts []string) bool {
	if req.Truncate == nil || *req.Truncate || i.Context == 0 {
		return false
	}
	for _, text := range texts {
		if len(strings.Fields(text)) > i.Context {
			return true
		}
	}
	return false
}

// Server responds to each chat request with the next turn of its script, and to
// embedding requests as set by SetEmbedding. It is safe for concurrent use.
type Server struct {
	*modeltest.Script[api.ChatRequest] // without the requests that unload the model

	t     testing.TB
	http  *httptest.Server
	close chan struct{} // closed by Close

	closing sync.Once

	mu        sync.Mutex
	models    []Info
	unloads   int
	loaded    bool
	embedding func([]string) Embedding
	embeds    []api.EmbedRequest
}

// New starts a server and stops it at the end of the test. A request beyond the end of
// the script fails the test.
func New(t testing.TB, script ...modeltest.Turn) *Server {
	t.Helper()
	for _, turn := range script {
		for _, c := range turn.Calls {
			if _, err := wire(c, 0); err != nil {
				t.Fatalf("ollamatest: input of %s: %v", c.Name, err)
			}
		}
	}
	s := &Server{
		Script: modeltest.NewScript[api.ChatRequest](script),
		t:      t,
		close:  make(chan struct{}),
		models: []Info{{
			Name:         Model,
			Capabilities: []ollama.Capability{ollama.CapabilityCompletion, ollama.CapabilityTools},
		}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/chat", s.chat)
	mux.HandleFunc("POST /api/embed", s.embed)
	mux.HandleFunc("POST /api/show", s.show)
	mux.HandleFunc("GET /api/tags", s.tags)
	mux.HandleFunc("GET /api/ps", s.ps)
	s.http = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Close stops the server. It may be called several times.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.close)
		s.http.Close()
	})
}

// URL returns the model's URL for ollama.Open, without settings.
func (s *Server) URL() string { return "ollama://" + s.Host() + "/" + Model }

// Host returns the server's host and port.
func (s *Server) Host() string { return strings.TrimPrefix(s.http.URL, "http://") }

// SetModels replaces the models of the server.
func (s *Server) SetModels(models ...Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = models
}

// Unloads returns the number of requests to unload the model.
func (s *Server) Unloads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unloads
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var req api.ChatRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if len(req.Messages) == 0 && req.KeepAlive != nil && req.KeepAlive.Duration == 0 {
		s.unload(w, req)
		return
	}
	s.setLoaded()
	turn, ok := s.Next(req)
	if !ok {
		s.t.Errorf("ollamatest: chat request %d is beyond the end of the script", len(s.Requests()))
		fail(w, http.StatusInternalServerError, "end of script")
		return
	}
	p := player{w: w, model: req.Model, client: r.Context().Done(), close: s.close}
	if !p.play(turn) {
		s.Disconnect()
	}
}

func (s *Server) setLoaded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = true
}

func (s *Server) unload(w http.ResponseWriter, req api.ChatRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unloads++
	s.loaded = false
	send(w, api.ChatResponse{Model: req.Model, Done: true, DoneReason: "unload"})
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	var req api.ShowRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.models {
		if m.Name != req.Model {
			continue
		}
		info := map[string]any{"general.architecture": "llama"}
		if m.Context > 0 {
			info["llama.context_length"] = m.Context
		}
		if m.ParameterCount > 0 {
			info["general.parameter_count"] = m.ParameterCount
		}
		if m.Tokenizer != "" {
			info["tokenizer.ggml.model"] = m.Tokenizer
		}
		send(w, api.ShowResponse{
			ModelInfo: info, Capabilities: m.Capabilities, RemoteHost: m.RemoteHost, Parameters: m.Parameters,
			Details: api.ModelDetails{ParameterSize: m.ParameterSize},
		})
		return
	}
	fail(w, http.StatusNotFound, "model '"+req.Model+"' not found")
}

func (s *Server) tags(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := api.ListResponse{Models: []api.ListModelResponse{}}
	for _, m := range s.models {
		list.Models = append(list.Models, api.ListModelResponse{
			Name: m.Name, Model: m.Name, Size: m.Size, RemoteHost: m.RemoteHost, Digest: m.Digest,
		})
	}
	send(w, list)
}

func (s *Server) ps(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := api.ProcessResponse{Models: []api.ProcessModelResponse{}}
	if s.loaded {
		running.Models = append(running.Models, api.ProcessModelResponse{Name: Model, Model: Model})
	}
	send(w, running)
}

// SetEmbedding sets the function that returns the responses to embedding requests. f may
// be called concurrently.
func (s *Server) SetEmbedding(f func(texts []string) Embedding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embedding = f
}

// Embeds returns the embedding requests so far; their Input is a []string.
func (s *Server) Embeds() []api.EmbedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]api.EmbedRequest(nil), s.embeds...)
}

func (s *Server) embed(w http.ResponseWriter, r *http.Request) {
	var texts []string
	req := api.EmbedRequest{Input: &texts}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		fail(w, http.StatusBadRequest, "invalid input type")
		return
	}
	req.Input = texts
	info, does, ok := s.embedder(req)
	if !ok {
		fail(w, http.StatusNotFound, "model '"+req.Model+"' not found")
		return
	}
	p := player{w: w, model: req.Model, client: r.Context().Done(), close: s.close}
	switch e := does(texts); {
	case e.Gate != nil && !modeltest.Wait(e.Gate, p.client, p.close), e.End == modeltest.Hang &&
		!modeltest.Wait(nil, p.client, p.close):
	case e.Status != 0:
		fail(w, e.Status, e.Error)
	case e.End == modeltest.Cut:
		_, _ = w.Write([]byte(`{"model":"` + req.Model + `","embeddings":[[0.1`))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case info.tooLong(req, texts):
		fail(w, http.StatusBadRequest, "the input length exceeds the context length")
	default:
		send(w, api.EmbedResponse{Model: req.Model, Embeddings: e.vectors(info, texts)})
	}
}

// embedder returns the model of req and the function for its response.
func (s *Server) embedder(req api.EmbedRequest) (info Info, does func([]string) Embedding, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embeds = append(s.embeds, req)
	if does = s.embedding; does == nil {
		does = func([]string) Embedding { return Embedding{} }
	}
	for _, m := range s.models {
		if m.Name == req.Model {
			return m, does, true
		}
	}
	return Info{}, does, false
}
