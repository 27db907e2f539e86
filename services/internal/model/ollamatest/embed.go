package ollamatest

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"strings"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model/modeltest"
)

// Embedding is what the server does with one request for vectors. The zero
// value answers with those of the texts.
type Embedding struct {
	Status  int           // unless 0, is answered with Error
	Error   string        //
	End     modeltest.End // Cut and Hang: without an answer
	Vectors [][]float32   // unless nil, instead of those of the texts
	// Gate, unless nil, is received from before the answer.
	Gate <-chan struct{}
}

// SetEmbedding has f decide, from now on, what becomes of requests for the
// vectors of texts. It may be called concurrently.
func (s *Server) SetEmbedding(f func(texts []string) Embedding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embedding = f
}

// Embeds are the requests for vectors so far; their Input is a []string.
func (s *Server) Embeds() []api.EmbedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]api.EmbedRequest(nil), s.embeds...)
}

// Vector is what the server makes of a text: its words, hashed, in a vector of
// the length 1. A text without words has zeros.
func Vector(text string, dimensions int) []float32 {
	vector := make([]float32, dimensions)
	for _, word := range strings.Fields(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word)) // a hash takes everything
		vector[h.Sum32()%uint32(dimensions)]++
	}
	sum := 0.0
	for _, x := range vector {
		sum += float64(x * x)
	}
	for i := range vector {
		vector[i] /= float32(max(math.Sqrt(sum), 1e-12))
	}
	return vector
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
	case e.Gate != nil && !modeltest.Wait(e.Gate, p.client, p.close), e.End == modeltest.Hang && !modeltest.Wait(nil, p.client, p.close):
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

// embedder finds the model of req, and what is to be done with it.
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

// tooLong takes words for tokens. That a text is to be cut is no promise that
// it can be: the server itself falls for it now and then.
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

func (e Embedding) vectors(info Info, texts []string) [][]float32 {
	if e.Vectors != nil {
		return e.Vectors
	}
	dimensions := info.Dimensions
	if dimensions == 0 {
		dimensions = 64
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = Vector(text, dimensions)
	}
	return vectors
}
