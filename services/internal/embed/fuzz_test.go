package embed_test

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/services/internal/embed"
)

// FuzzVectors returns arbitrary responses of an Ollama server and arbitrary cache
// entries: the result is vectors of the model's dimensions, or a classified error.
func FuzzVectors(f *testing.F) {
	for _, seed := range [][4]string{
		{`{"model_info":{"general.architecture":"bert","bert.context_length":512,"tokenizer.ggml.model":"bert"},"parameters":"num_ctx 12\n"}`,
			`{"models":[{"name":"m:latest","digest":"sha256:0123"}]}`, `{"embeddings":[[1,0.5],[0,-1]],"prompt_eval_count":-3}`,
			"\x00\x3c\x00\x38"},
		{`{"model_info":{"general.architecture":7,"bert.context_length":1e300},"parameters":"num_ctx -5"}`,
			`{"models":[{"name":"m:latest"}]}`,
			`{"embeddings":[[1],[1,2]]}`, "\xff\xff\xff\xff"},
		{`{"capabilities":["completion"]}`, `{"models":null}`, `{"embeddings":[[]]}`, ""},
		{`{}`, `{"models":[{"name":"m"}]}`, `{"embeddings":[[1e39],[null]]}`, "\x00"},
		{`null`, `{"models":[{"name":"m"}]}`, `{"embeddings":[null,null]}`, ""},
		{`[`, `x`, `{"error":"unsupported value: NaN"}`, ""},
		{"\xff", ``, ``, ``},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), []byte(seed[2]), []byte(seed[3]), 200)
	}
	f.Add([]byte(`{}`), []byte(`{"models":[{"name":"m"}]}`), []byte(`{"error":"input exceeds the context length"}`),
		[]byte(``), 400)
	anything := &randomServer{}
	server := httptest.NewServer(anything)
	f.Cleanup(server.Close)
	s, js := serve(f), stream(f)
	kept := warmed(f, s, openCache(f, js))
	want := vectors(f, kept, embed.Document, "red")
	kv := waitForVectors(f, js, 1)
	keys, err := kv.Keys(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, show, list, vectorsOf, stored []byte, status int) {
		if status < 200 || status > 599 || status == 500 {
			return // not a status, or one that is retried
		}
		anything.response.Store(&response{show, list, vectorsOf, status})
		e, err := embed.Open(t.Context(), "ollama://"+strings.TrimPrefix(server.URL, "http://")+"/m?batch=2")
		if err != nil {
			t.Fatal(err)
		}
		for _, purpose := range []embed.Purpose{embed.Document, embed.Query} {
			got, err := e.Embed(t.Context(), purpose, []string{"red", "blue", "\n"})
			if err != nil && !errors.Is(err, embed.ErrUnavailable) && !errors.Is(err, embed.ErrRejected) {
				t.Errorf("embed: %v", err)
			}
			if err == nil {
				finite(t, got, 3, e.Space().Dimensions)
			}
		}
		if _, err := kv.Put(t.Context(), keys[0], stored); err != nil {
			t.Fatal(err)
		}
		finite(t, vectors(t, kept, embed.Document, "red"), 1, len(want[0]))
	})
}

// randomServer is an Ollama server with arbitrary responses.
type randomServer struct{ response atomic.Pointer[response] }

type response struct {
	show, list, vectors []byte
	status              int
}

// ServeHTTP implements http.Handler.
func (s *randomServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	response := s.response.Load()
	switch r.URL.Path {
	case "/api/show":
		_, _ = w.Write(response.show)
	case "/api/tags":
		_, _ = w.Write(response.list)
	default:
		var received bytes.Buffer
		_, _ = received.ReadFrom(r.Body)
		if bytes.Contains(received.Bytes(), []byte(`"a text"`)) { // the request for the dimensions
			_, _ = w.Write([]byte(`{"embeddings":[[1,2]]}`))
			return
		}
		w.WriteHeader(response.status)
		_, _ = w.Write(response.vectors)
	}
}

func finite(t *testing.T, got [][]float32, texts, dimensions int) {
	t.Helper()
	if len(got) != texts {
		t.Fatalf("%d vectors for %d texts", len(got), texts)
	}
	for _, v := range got {
		if len(v) != dimensions || dimensions == 0 {
			t.Errorf("%d dimensions, want %d", len(v), dimensions)
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Errorf("no number: %v", v)
			}
		}
	}
}
