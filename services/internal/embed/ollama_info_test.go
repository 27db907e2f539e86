package embed_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	ollama "github.com/ollama/ollama/types/model"

	"cairn/services/internal/embed"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/ollamatest"
	"cairn/test/wait"
)

func TestSettingsOfAModel(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ url, says string }{
		{"ollama://host", "name of a model"},
		{"ollama://user:secret@host/m", "password"},
		{"ollama://host/m?floor=2", "floor=2"},
		{"ollama://host/m?floor=NaN", "floor=NaN"},
		{"ollama://host/m?batch=0", "batch=0"},
		{"ollama://host/m?num_ctx=x", "num_ctx=x"},
		{"ollama://host/m?dimensions=-1", "dimensions=-1"},
		{"ollama://host/m?timeout=0s", "timeout=0s"},
		{"ollama://host/m?query_timeout=5", "query_timeout=5"},
		{"ollama://host/m?keep_alive=long", "keep_alive=long"},
		{"ollama://host/m?temperature=1", `"temperature"`},
	} {
		if _, err := embed.Open(t.Context(), row.url); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("open %s: got %v, want an error with %q", row.url, err, row.says)
		}
	}
	for url, floor := range map[string]float64{
		"ollama:///all-minilm": 0.2, "ollama+https://h/bge-m3": 0.1, "ollama://h:1/minilm?floor=0": 0,
	} {
		e, err := embed.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Space(); got != (embed.Space{Floor: floor}) {
			t.Errorf("space of %s: got %+v, want a floor of %v alone", url, got, floor)
		}
	}
}

func TestSpaceIdentifiesVectors(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for _, row := range []struct {
		name, settings string
		digest         string
		dimensions     int
	}{
		{"the model", "", minilm.Digest, 64},
		{"pulled again", "", "71c2081242015f0e", 64},
		{"another query prefix", "?query_prefix=q", minilm.Digest, 64},
		{"another document prefix", "?document_prefix=q", minilm.Digest, 64},
		{"another window", "?num_ctx=11", minilm.Digest, 64},
		{"fewer dimensions", "?dimensions=32", minilm.Digest, 32},
	} {
		info := minilm
		info.Digest, info.Dimensions = row.digest, row.dimensions
		e := open(t, serve(t, info), "all-minilm"+row.settings)
		vectors(t, e, embed.Query, "red")
		got := e.Space()
		if other, ok := names[got.Name]; ok || !strings.HasPrefix(got.Name, "all-minilm:latest@"+row.digest[:12]+"+") ||
			got.Dimensions != row.dimensions {
			t.Errorf("%s: got %+v, as of %q", row.name, got, other)
		}
		names[got.Name] = row.name
	}
	e := open(t, serve(t), "all-minilm:latest?floor=0.3&timeout=1s")
	vectors(t, e, embed.Query, "red")
	if names[e.Space().Name] != "the model" {
		t.Errorf("settings that change no vector: got %q, want the same name", e.Space().Name)
	}
}

func TestCheckAndWarm(t *testing.T) {
	t.Parallel()
	chat := ollamatest.Info{Name: "chat:latest", Capabilities: []ollama.Capability{ollama.CapabilityCompletion}}
	s := serve(t, minilm, chat)
	for _, row := range []struct{ model, says string }{
		{"absent", "ollama pull"},
		{"chat", "does not support embeddings"},
	} {
		e := open(t, s, row.model)
		for operation, err := range map[string]error{"check": e.Check(t.Context()), "warm": embed.Warm(t.Context(), e)} {
			if !errors.Is(err, embed.ErrUnavailable) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%s %s: got %v, want %q", operation, row.model, err, row.says)
			}
		}
	}
	e := open(t, s, "all-minilm")
	if err := e.Check(t.Context()); err != nil || len(s.Embeds()) > 0 {
		t.Errorf("check: got %v and %d requests for vectors, want none", err, len(s.Embeds()))
	}
	if err := embed.Warm(t.Context(), e); err != nil || e.Space().Dimensions != 64 {
		t.Errorf("warm: got %v and %+v, want the dimensions", err, e.Space())
	}
	s.Close()
	for operation, err := range map[string]error{"check": e.Check(t.Context()), "warm": embed.Warm(t.Context(), e)} {
		if !errors.Is(err, embed.ErrUnavailable) {
			t.Errorf("%s of a server that is away: got %v", operation, err)
		}
	}
}

func TestServerUnavailableAtStart(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.SetModels()
	e := open(t, s, "all-minilm")
	if _, err := e.Embed(t.Context(), embed.Document, []string{"red"}); !errors.Is(err, embed.ErrUnavailable) {
		t.Errorf("away: got %v", err)
	}
	s.SetModels(minilm)
	if got := vectors(t, e, embed.Document, " "); len(got[0]) != 64 || e.Space().Dimensions != 64 {
		t.Errorf("back: got %v, %+v; want 64 zeros and the dimensions, though no text has content", got, e.Space())
	}
}

func TestReplacedModel(t *testing.T) {
	t.Parallel()
	s := serve(t)
	e := open(t, s, "all-minilm")
	vectors(t, e, embed.Document, "red")
	before := e.Space()
	other := minilm
	other.Digest = "71c2081242015f0e"
	s.SetModels(other)
	if err := e.Check(t.Context()); !errors.Is(err, embed.ErrUnavailable) || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("check: got %v, want a model-replaced error", err)
	}
	// A failed server may return with another model.
	s.SetEmbedding(func([]string) ollamatest.Embedding { return ollamatest.Embedding{Status: 503} })
	if _, err := e.Embed(t.Context(), embed.Document, []string{"red"}); err == nil {
		t.Fatal("a server that fails: got no error")
	}
	s.SetEmbedding(nil)
	_, err := e.Embed(t.Context(), embed.Document, []string{"red"})
	if !errors.Is(err, embed.ErrUnavailable) || !strings.Contains(err.Error(), "replaced") || e.Space() != before {
		t.Errorf("embed: got %v and %+v, want a model-replaced error", err, e.Space())
	}
	s.SetModels(minilm)
	vectors(t, e, embed.Document, "red")
}

// TestEndedContext: calls that their callers end do not open the circuit breaker.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	s := serve(t)
	e := open(t, s, "all-minilm")
	vectors(t, e, embed.Query, "red")
	reached := make(chan struct{}, 8)
	s.SetEmbedding(func([]string) ollamatest.Embedding {
		reached <- struct{}{}
		return ollamatest.Embedding{End: modeltest.Hang}
	})
	for range 4 { // more than open the breaker
		canceled, cancel := context.WithCancel(t.Context())
		go func() { <-reached; cancel() }()
		_, err := e.Embed(canceled, embed.Query, []string{"red"})
		if !errors.Is(err, context.Canceled) || errors.Is(err, embed.ErrUnavailable) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		brief, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err = e.Embed(brief, embed.Query, []string{"red"})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, embed.ErrUnavailable) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		cancel()
	}
	s.SetEmbedding(nil)
	vectors(t, e, embed.Query, "red")
}

func TestCircuitBreaker(t *testing.T) {
	t.Parallel()
	s := serve(t)
	e := open(t, s, "all-minilm?query_timeout=400ms")
	vectors(t, e, embed.Document, "red")
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() { embed.Monitor(ctx, e); close(watched) }()
	defer func() { stop(); <-watched }()

	s.SetEmbedding(func([]string) ollamatest.Embedding { return ollamatest.Embedding{End: modeltest.Hang} })
	fail := func() error {
		_, err := e.Embed(t.Context(), embed.Query, []string{"red"})
		if !errors.Is(err, embed.ErrUnavailable) {
			t.Errorf("a server that hangs: got %v", err)
		}
		return err
	}
	for range 3 {
		_ = fail()
	}
	requests := len(s.Embeds())
	for range 100 {
		if err := fail(); !strings.Contains(err.Error(), "circuit breaker is open, the last failure was: ") {
			t.Fatalf("got %v, want the cause of the open breaker", err)
		}
	}
	if additions := len(s.Embeds()) - requests; additions > 0 {
		t.Errorf("100 queries sent %d requests, want none", additions)
	}
	if err := e.Check(t.Context()); !errors.Is(err, embed.ErrUnavailable) {
		t.Errorf("check: got %v, want the cause of the query failure", err)
	}
	s.SetEmbedding(nil)
	wait.Success(t, func() error { return e.Check(t.Context()) })
	vectors(t, e, embed.Query, "red")
}

func TestConcurrentFirstCalls(t *testing.T) {
	t.Parallel()
	e := open(t, serve(t), "all-minilm")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, err := e.Embed(t.Context(), embed.Purpose(i%2), []string{"red"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
