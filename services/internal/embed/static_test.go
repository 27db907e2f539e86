package embed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/services/internal/embed"
	"cairn/services/internal/model/ollamatest"
)

// TestConformance checks the contract of every embedder.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := serve(t, ollamatest.Info{Name: "m:latest"})
	for _, url := range []string{"static:", "static:static/minilm", "lexical:", "ollama://" + s.Host() + "/m"} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			e, err := embed.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			if err := embed.Warm(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			for _, purpose := range []embed.Purpose{embed.Document, embed.Query} {
				conforms(t, e, purpose)
			}
			if err := e.Check(t.Context()); err != nil {
				t.Errorf("check: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if got, err := e.Embed(ctx, embed.Document, []string{"a text"}); !errors.Is(err, context.Canceled) || got != nil {
				t.Errorf("a canceled context: got %v, %v", got, err)
			}
		})
	}
}

func conforms(t *testing.T, e embed.Embedder, purpose embed.Purpose) {
	t.Helper()
	const networks = "list the virtual networks"
	texts := []string{networks, "brew coffee. Then drink it.", "", " \n", "a\xffb", strings.Repeat("long ", 5000),
		networks}
	got, err := e.Embed(t.Context(), purpose, texts)
	if err != nil {
		t.Fatal(err)
	}
	space := e.Space()
	if space.Name == "" || space.Floor <= 0 || space.Floor > 1 {
		t.Errorf("space %+v: want a name and a floor", space)
	}
	finite(t, got, len(texts), space.Dimensions)
	for _, blank := range []int{2, 3} {
		if length(got[blank]) != 0 {
			t.Errorf("%q: got a vector, want zeros", texts[blank])
		}
	}
	if same := cosine(got[0], got[6]); math.Abs(same-1) > 1e-6 {
		t.Errorf("equal texts: got a cosine of %v", same)
	}
	alone, err := e.Embed(t.Context(), purpose, texts[1:2])
	if err != nil || math.Abs(cosine(alone[0], got[1])-1) > 1e-6 {
		t.Errorf("a text alone: got another vector, %v", err)
	}
	if got, err := e.Embed(t.Context(), purpose, nil); err != nil || len(got) != 0 {
		t.Errorf("no texts: got %v, %v", got, err)
	}
}

func TestStaticSettings(t *testing.T) {
	t.Parallel()
	e, err := embed.Open(t.Context(), "static:static/minilm?floor=0.4")
	if err != nil {
		t.Fatal(err)
	}
	builtIn, err := embed.Open(t.Context(), "static:")
	if err != nil {
		t.Fatal(err)
	}
	if space := e.Space(); space.Floor != 0.4 || space.Name != builtIn.Space().Name || !space.Static {
		t.Errorf("got %+v, want the floor of the URL and the name of the same table, %q", space, builtIn.Space().Name)
	}
	broken := t.TempDir()
	for name, data := range map[string]string{"tokenizer.json": "{}", "model.safetensors": ""} {
		if err := os.WriteFile(filepath.Join(broken, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for url, want := range map[string]string{
		"static:?floor=2":       "expected a cosine from 0 to 1",
		"static:?floor=NaN":     "expected a cosine from 0 to 1",
		"static:?window=7":      "expected floor",
		"static:?%zz":           "invalid URL escape",
		"static:" + t.TempDir(): "tokenizer.json: no such file",
		"static:" + broken:      "expected WordPiece",
	} {
		_, err := embed.Open(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", url)) {
			t.Errorf("open %q: got %v, want an error with the URL and %q", url, err, want)
		}
	}
}
