package embed_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"cairn/services/internal/embed"
)

// real opens a model of the Ollama at CAIRN_TEST_OLLAMA, or skips the test when the
// server lacks it. Test machines are slow.
func real(t *testing.T, name, settings string) embed.Embedder {
	t.Helper()
	url := os.Getenv("CAIRN_TEST_OLLAMA")
	if url == "" {
		t.Skip("needs CAIRN_TEST_OLLAMA, the URL of an Ollama server with the models scripted-embed and minilm")
	}
	e, err := embed.Open(t.Context(),
		"ollama://"+strings.TrimPrefix(url, "http://")+"/"+name+"?query_timeout=60s&"+settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := embed.Warm(t.Context(), e); err != nil {
		if strings.Contains(err.Error(), "model not found") {
			t.Skipf("needs the model %s at CAIRN_TEST_OLLAMA", name)
		}
		t.Fatal(err)
	}
	return e
}

// eachReal runs a test with both models.
func eachReal(t *testing.T, test func(*testing.T, embed.Embedder)) {
	t.Parallel()
	for _, name := range []string{"scripted-embed", "minilm"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, real(t, name, "batch=4"))
		})
	}
}

func TestRealVectors(t *testing.T) {
	eachReal(t, func(t *testing.T, e embed.Embedder) {
		texts := []string{"list the virtual networks", "show all virtual networks", " ", "brew a cup of coffee", "one", "two",
			"three"}
		got := vectors(t, e, embed.Document, texts...)
		space := e.Space()
		name, digest, _ := strings.Cut(space.Name, ":latest@")
		if space.Dimensions != 384 || name == space.Name || len(digest) != 12+1+8+len("+sentences-1") {
			t.Errorf("space %+v: want 384 dimensions and a name with a digest", space)
		}
		for i, v := range got {
			if blank := i == 2; len(v) != 384 || blank != (length(v) == 0) || !blank && math.Abs(length(v)-1) > 1e-3 {
				t.Errorf("%q: %d numbers, length %.4f", texts[i], len(v), length(v))
			}
		}
		if near, far := cosine(got[0], got[1]), cosine(got[0], got[3]); near < 0.6 || near < far+0.4 {
			t.Errorf("cosines: %.2f to the same, %.2f to another matter", near, far)
		}
		if alone := vectors(t, e, embed.Document, texts[3]); cosine(alone[0], got[3]) < 0.99999 {
			t.Error("the order is not that of the texts")
		}
		if err := e.Check(t.Context()); err != nil {
			t.Errorf("check: %v", err)
		}
	})
}

// TestRealPublishedSimilarities compares with those of sbert.net for all-MiniLM-L6-v2.
func TestRealPublishedSimilarities(t *testing.T) {
	t.Parallel()
	got := vectors(t, real(t, "minilm", ""), embed.Document,
		"The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
	for _, row := range []struct {
		a, b int
		want float64
	}{{0, 1, 0.6660}, {0, 2, 0.1046}, {1, 2, 0.1411}} {
		if cos := cosine(got[row.a], got[row.b]); math.Abs(cos-row.want) > 0.005 {
			t.Errorf("texts %d and %d: got %.4f, want %.4f", row.a, row.b, cos, row.want)
		}
	}
}

// TestRealCleanText compares spellings that BERT normalizes to the same tokens.
func TestRealCleanText(t *testing.T) {
	t.Parallel()
	e := real(t, "minilm", "")
	for _, pair := range [][2]string{
		{"a café in Zürich", "a cafe in Zurich"},
		{"written in C++ for x>5", "written in C + + for x > 5"},
		{"it’s “quoted” – twice", `it's "quoted" - twice`},
		{"zero\u200bwidth", "zerowidth"},
	} {
		got := vectors(t, e, embed.Query, pair[0], pair[1])
		if cos := cosine(got[0], got[1]); cos < 0.9999 {
			t.Errorf("%q and %q: cosine %.4f, want 1", pair[0], pair[1], cos)
		}
	}
}

func TestRealLongTexts(t *testing.T) {
	eachReal(t, func(t *testing.T, e embed.Embedder) {
		prose := strings.Repeat("The registry lists virtual networks, their subnets and who may change them. ", 60)
		texts := []string{
			"a short text",
			prose,
			strings.Repeat("x=1;y>2|", 500),
			strings.Repeat("Überwachung日本語 ", 300),
			strings.Repeat("nospace", 900),
			"another short text",
		}
		got := vectors(t, e, embed.Document, texts...)
		for i, v := range got {
			// that of several sentences is their sum
			if whole := i != 1; length(v) == 0 || whole && math.Abs(length(v)-1) > 1e-3 {
				t.Errorf("text %d: length %.4f", i, length(v))
			}
		}
		for _, i := range []int{0, 5} {
			if alone := vectors(t, e, embed.Document, texts[i]); cosine(alone[0], got[i]) < 0.99999 {
				t.Errorf("text %d has another vector beside long ones", i)
			}
		}
		if cos := cosine(got[1], vectors(t, e, embed.Document, prose[:700])[0]); cos < 0.9 {
			t.Errorf("a truncated long text: cosine %.2f to its beginning", cos)
		}
		// the sentences of prose are short
		if len(logged.with(strings.TrimSuffix(t.Name(), "/")[len("TestRealLongTexts/"):]+":latest")) < 3 {
			t.Error("truncated texts are not logged")
		}
	})
}

func TestRealUnsuitableModels(t *testing.T) {
	t.Parallel()
	url := strings.TrimPrefix(os.Getenv("CAIRN_TEST_OLLAMA"), "http://")
	if url == "" {
		t.Skip("needs CAIRN_TEST_OLLAMA, the URL of an Ollama server with the scripted models")
	}
	for model, says := range map[string]string{"absent": "ollama pull", "scripted": "does not support embeddings"} {
		e, err := embed.Open(t.Context(), "ollama://"+url+"/"+model)
		if err != nil {
			t.Fatal(err)
		}
		_, made := e.Embed(t.Context(), embed.Query, []string{"red"})
		for operation, err := range map[string]error{"embed": made, "check": e.Check(t.Context()),
			"warm": embed.Warm(t.Context(), e)} {
			if !errors.Is(err, embed.ErrUnavailable) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s with %s: got %v, want %q", operation, model, err, says)
			}
		}
	}
}

func TestRealCache(t *testing.T) {
	t.Parallel()
	e, js := real(t, "minilm", ""), stream(t)
	c := openCache(t, js)
	first := vectors(t, embed.Cached(e, c), embed.Document, "a café", "red")
	waitForVectors(t, js, 2)
	second := vectors(t, embed.Cached(e, c), embed.Document, "red", "a café")
	direct := vectors(t, e, embed.Document, "red", "a café")
	for i := range first {
		if cosine(first[i], second[1-i]) < 0.9999999 || cosine(second[i], direct[i]) < 0.9999 {
			t.Errorf("text %d: the cache has another vector than the model", i)
		}
	}
}
