package embed_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ollama "github.com/ollama/ollama/types/model"

	"cairn/services/internal/embed"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/ollamatest"
)

// minilm is a model with a window of 12 tokens.
var minilm = ollamatest.Info{
	Name: "all-minilm:latest", Digest: "2ebe4dd4fca14137", Tokenizer: "bert", Context: 12,
	Capabilities: []ollama.Capability{ollama.CapabilityEmbedding},
}

// serve runs a server with models, by default minilm.
func serve(t testing.TB, models ...ollamatest.Info) *ollamatest.Server {
	t.Helper()
	if len(models) == 0 {
		models = []ollamatest.Info{minilm}
	}
	s := ollamatest.New(t)
	s.SetModels(models...)
	return s
}

// open opens the model of s by name, with settings appended.
func open(t *testing.T, s *ollamatest.Server, name string) embed.Embedder {
	t.Helper()
	e, err := embed.Open(t.Context(), "ollama://"+s.Host()+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func vectors(t testing.TB, e embed.Embedder, purpose embed.Purpose, texts ...string) [][]float32 {
	t.Helper()
	got, err := e.Embed(t.Context(), purpose, texts)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// inputs returns the texts of the requests to s, without the first, which queries the
// dimensions.
func inputs(s *ollamatest.Server) (all [][]string) {
	for _, req := range s.Embeds()[1:] {
		all = append(all, req.Input.([]string))
	}
	return all
}

func TestOllamaEmbedsInBatches(t *testing.T) {
	t.Parallel()
	s := serve(t)
	got := vectors(t, open(t, s, "all-minilm?batch=2&keep_alive=-1s&num_ctx=12"), embed.Document, "one", " \n", "two",
		"three")
	want := [][]float32{ollamatest.Vector("one", 64), make([]float32, 64), ollamatest.Vector("two", 64),
		ollamatest.Vector("three", 64)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("vectors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"one", "two"}, {"three"}}, inputs(s)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, req := range s.Embeds() {
		if req.Truncate == nil || *req.Truncate || req.KeepAlive.Duration < 1000*time.Hour || req.Options["num_ctx"] != 12.0 {
			t.Errorf("request %+v: want no truncation, an unlimited keep_alive and num_ctx", req)
		}
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	const passages = "Represent this sentence for searching relevant passages: "
	for _, row := range []struct{ model, query, document string }{
		{"all-minilm:latest", "", ""},
		{"nomic-embed-text:v1.5", "search_query: ", "search_document: "},
		{"hf.co/nomic-ai/Nomic-Embed-Text-v2-moe-GGUF:Q8_0", "search_query: ", "search_document: "},
		{"mxbai-embed-large:latest", passages, ""},
		{"snowflake-arctic-embed:33m", passages, ""},
		{"snowflake-arctic-embed2:latest", "query: ", ""},
		{"bge-large:latest", passages, ""},
		{"bge-m3:latest", "", ""},
		{"jeffh/intfloat-multilingual-e5-large:latest", "query: ", "passage: "},
		{"qwen3-embedding:0.6b", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", ""},
		{"embeddinggemma:latest", "task: search result | query: ", "title: none | text: "},
		{"granite-embedding:latest", "", ""},
		{"all-minilm:latest?query_prefix=q%20&document_prefix=d%3A%20", "q ", "d: "},
	} {
		t.Run(row.model, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(row.model, "?")
			s := serve(t, ollamatest.Info{Name: name})
			e := open(t, s, row.model)
			vectors(t, e, embed.Query, "red")
			vectors(t, e, embed.Document, "blue")
			if diff := cmp.Diff([][]string{{row.query + "red"}, {row.document + "blue"}}, inputs(s)); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCleanText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, wordPiece, other string }{
		{"accents are removed where a word would be unknown", "café Überlauf", "cafe Uberlauf", "café Überlauf"},
		{"symbols are separated", "C++ a=b <x> $5 ~`^|", "C +  +  a = b  < x >   $ 5  ~  `  ^  |", "C++ a=b <x> $5 ~`^|"},
		{"typographic quotes and dashes become ASCII", "it’s “so” – 5−3", "it's \"so\" - 5-3", "it’s “so” – 5−3"},
		{"control and zero-width characters are removed", "a\x00b\u200bc\ufeff\td\u00ade", "a bc de", "a bc de"},
		{"joiners are kept where they have a meaning", "क\u200dष 👩\u200d💻", "कष 👩💻", "क\u200dष 👩\u200d💻"},
		{"invalid UTF-8", "a\xffb", "a b", "a b"},
		{"very long words are split", strings.Repeat("a", 250),
			strings.Repeat("a", 100) + " " + strings.Repeat("a", 100) + " " + strings.Repeat("a", 50), strings.Repeat("a", 250)},
		{"line breaks are kept", " first\r\nsecond ", "first \nsecond", "first \nsecond"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for tokenizer, want := range map[string]string{"bert": row.wordPiece, "gpt2": row.other} {
				s := serve(t, ollamatest.Info{Name: "m:latest", Tokenizer: tokenizer})
				vectors(t, open(t, s, "m"), embed.Query, row.text)
				if got := inputs(s)[0][0]; got != want {
					t.Errorf("%s: got %q, want %q", tokenizer, got, want)
				}
			}
		})
	}
}

func TestLongTextsAreTruncated(t *testing.T) {
	t.Parallel()
	long := "indigo " + strings.Repeat("word ", 40)
	for _, row := range []struct {
		name       string
		window     int    // reported by the model; that of the server is 12
		parameters string // reported as well
		text       string
		kept       string
	}{
		{"in a batch, with an unreported window", 0, "", long, "indigo" + strings.Repeat(" word", 10)},
		{"alone, with a reported window", 12, "", long, "indigo" + strings.Repeat(" word", 11)},
		{"alone, with a configured window", 512, "stop x\nnum_ctx    12\n", long, "indigo" + strings.Repeat(" word", 11)},
		{"a text that fits is not truncated", 12, "", strings.TrimSpace(strings.Repeat("letters ", 12)),
			strings.TrimSpace(strings.Repeat("letters ", 12))},
		{"without spaces, at the letters", 2, "", strings.Repeat("ü", 40), strings.Repeat("ü", 17)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(strings.ReplaceAll(row.name, " ", "-"), ",", "") + ":latest"
			s := serve(t, ollamatest.Info{Name: name, Context: row.window, Parameters: row.parameters})
			s.SetEmbedding(func(texts []string) ollamatest.Embedding {
				if slices.ContainsFunc(texts, func(text string) bool { return len(strings.Fields(text)) > 12 }) {
					return ollamatest.Embedding{Status: 400, Error: "the input length exceeds the context length"}
				}
				return ollamatest.Embedding{}
			})
			before := len(logged.with(name))
			got := vectors(t, open(t, s, name), embed.Document, "red", row.text, "blue")
			want := [][]float32{ollamatest.Vector("red", 64), ollamatest.Vector(row.kept, 64), ollamatest.Vector("blue", 64)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("vectors (-want +got):\n%s\nof %q", diff, inputs(s))
			}
			notes := logged.with(name)[before:]
			if cut := row.kept != strings.TrimSpace(row.text); cut != (len(notes) == 1) {
				t.Errorf("notes %q; want one of a truncated text", notes)
			}
		})
	}
}

// TestFailures covers the failures of a request for documents.
func TestFailures(t *testing.T) {
	t.Parallel()
	status := func(code int, text string) ollamatest.Embedding {
		return ollamatest.Embedding{Status: code, Error: text}
	}
	for _, row := range []struct {
		name string
		does ollamatest.Embedding
		want error
		says string
	}{
		{"too many requests", status(429, "slow down"), embed.ErrUnavailable, "slow down"},
		{"a full queue", status(503, "server busy"), embed.ErrUnavailable, "server busy"},
		{"a runner that died", status(500, "llama runner process has terminated"), embed.ErrUnavailable, "terminated"},
		{"a model that went away", status(404, "model 'm' not found"), embed.ErrUnavailable, "ollama pull"},
		{"a login", status(401, "unauthorized"), embed.ErrUnavailable, ""},
		{"silence", ollamatest.Embedding{End: modeltest.Hang}, embed.ErrUnavailable, "timeout after 400ms"},
		{"an interrupted response", ollamatest.Embedding{End: modeltest.Cut}, embed.ErrUnavailable, ""},
		{"no vectors", ollamatest.Embedding{Vectors: [][]float32{}}, embed.ErrUnavailable, "0 vectors for 1 texts"},
		{"other dimensions", ollamatest.Embedding{Vectors: [][]float32{{1, 0}}}, embed.ErrUnavailable,
			"2 dimensions, expected 64"},
		{"a text that has no vector", status(500, "failed to encode response: json: unsupported value: NaN"),
			embed.ErrRejected,
			`"a poisoned text"`},
		{"a setting it does not know", status(400, "invalid option"), embed.ErrRejected, "invalid option"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			e := open(t, s, "all-minilm?timeout=400ms")
			vectors(t, e, embed.Document, "all is well")
			s.SetEmbedding(func([]string) ollamatest.Embedding { return row.does })
			got, err := e.Embed(t.Context(), embed.Document, []string{"a poisoned text"})
			if got != nil || !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, %v; want %v with %q", got, err, row.want, row.says)
			}
			s.SetEmbedding(nil)
			vectors(t, e, embed.Document, "well again")
		})
	}
}

func TestRejectedTextIsNamed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.SetEmbedding(func(texts []string) ollamatest.Embedding {
		if slices.Contains(texts, "bad") {
			return ollamatest.Embedding{Status: 400, Error: "no"}
		}
		return ollamatest.Embedding{}
	})
	e := open(t, s, "all-minilm")
	_, err := e.Embed(t.Context(), embed.Document, []string{"good", "bad"})
	if !errors.Is(err, embed.ErrRejected) || errors.Is(err, embed.ErrUnavailable) ||
		!strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("documents: got %v, want a refusal of the bad one", err)
	}
	_, err = e.Embed(t.Context(), embed.Query, []string{"bad"})
	if !errors.Is(err, embed.ErrRejected) || strings.Contains(err.Error(), "bad") {
		t.Errorf("query: got %v, want a refusal that does not repeat what the user asked", err)
	}
}

// TestTextFailsModel: the text is rejected without affecting other texts; a model
// that fails on every text is unavailable.
func TestTextFailsModel(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]ollamatest.Embedding{
		"a runner that crashes": {Status: 500, Error: "do embedding request: EOF"},
		"no answer":             {End: modeltest.Hang},
	} {
		s := serve(t)
		e := open(t, s, "all-minilm?timeout=2s")
		vectors(t, e, embed.Document, "fine")
		s.SetEmbedding(func(texts []string) ollamatest.Embedding {
			if slices.Contains(texts, "poison") {
				return broken
			}
			return ollamatest.Embedding{}
		})
		_, err := e.Embed(t.Context(), embed.Document, []string{"one", "poison", "two"})
		if !errors.Is(err, embed.ErrRejected) || !strings.Contains(err.Error(), `"poison"`) {
			t.Errorf("%s: got %v, want the text rejected by its name", name, err)
		}
		vectors(t, e, embed.Document, "one", "two")
		s.SetEmbedding(func([]string) ollamatest.Embedding { return broken })
		if _, err := e.Embed(t.Context(), embed.Document, []string{"one"}); !errors.Is(err, embed.ErrUnavailable) ||
			errors.Is(err, embed.ErrRejected) {
			t.Errorf("%s on every text: got %v, want %v", name, err, embed.ErrUnavailable)
		}
	}
}

func TestQueryTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t)
	e := open(t, s, "all-minilm?query_timeout=400ms")
	vectors(t, e, embed.Document, "all is well")
	s.SetEmbedding(func([]string) ollamatest.Embedding { return ollamatest.Embedding{End: modeltest.Hang} })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := e.Embed(ctx, embed.Query, []string{"slow"}); !errors.Is(err, embed.ErrUnavailable) || ctx.Err() != nil {
		t.Errorf("got %v, want %v after 400 ms", err, embed.ErrUnavailable)
	}
}
