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

// Embedding is a response to an embedding request. The zero value has the vectors of the
// texts.
type Embedding struct {
	Status  int           // unless 0, the response is Error with this status
	Error   string        //
	End     modeltest.End // Cut and Hang: no response
	Vectors [][]float32   // unless nil, replaces the vectors of the texts
	// Gate, unless nil, is received from before the response.
	Gate <-chan struct{}
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

// Vector returns the server's vector of a text: its words hashed into a vector of length
// 1. A text without words has the zero vector.
func Vector(text string, dimensions int) []float32 {
	vector := make([]float32, dimensions)
	for _, word := range strings.Fields(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word)) // never fails
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
