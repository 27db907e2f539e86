package index_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"testing"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
)

// given is a model that returns these vectors for any text.
type given struct{ vectors [][]float32 }

func (g given) Space() embed.Space {
	return embed.Space{Name: "given", Dimensions: len(g.vectors[0])}
}

func (g given) Embed(_ context.Context, _ embed.Purpose, texts []string) ([][]float32, error) {
	return g.vectors[:len(texts)], nil
}

func (g given) Check(context.Context) error { return nil }

func TestElasticVectors(t *testing.T) {
	t.Parallel()
	long := make([]float32, 300)
	for i := range long {
		long[i] = float32(math.Sin(float64(i))) * 1e3
	}
	tiny := make([]float32, 300)
	tiny[0], tiny[299] = -3e-12, 4e-12
	server := newStub(t)
	var got []struct{ Vector []float64 }
	server.onBulk(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewScanner(r.Body)
		body.Buffer(nil, 1<<20)
		for range 2 {
			body.Scan()
		}
		document := struct{ Vectors *[]struct{ Vector []float64 } }{&got}
		if err := json.Unmarshal(body.Bytes(), &document); err != nil {
			t.Errorf("%v: %s", err, body.Bytes())
		}
		_, _ = w.Write([]byte(`{"items":[{"index":{"status":201}}]}`))
	})
	document := index.Document{Kind: "skill", ID: "net.a", Title: "text", Examples: []string{"none", "tiny"}}
	ix := openAt(t, server.URL, given{[][]float32{long, make([]float32, 300), tiny}})
	if err := ix.Apply(t.Context(), []index.Change{{Document: document, Revision: 1}}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("got %d vectors, want 2: a zero vector is omitted", len(got))
	}
	for i, want := range [][]float32{long, tiny} {
		if c := cosine(got[i].Vector, want); c < 1-1e-9 {
			t.Errorf("vector %d: got a cosine of %.12f to the vector of the model", i, c)
		}
	}
}

func cosine(a []float64, b []float32) float64 {
	var ab, aa, bb float64
	for i := range b {
		ab += a[i] * float64(b[i])
		aa += a[i] * a[i]
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func TestElasticRejectsInvalidVectors(t *testing.T) {
	t.Parallel()
	server := newStub(t)
	for name, x := range map[string]float64{"not a number": math.NaN(), "infinite": math.Inf(-1)} {
		ix := openAt(t, server.URL, given{[][]float32{{0.6, float32(x)}}})
		var rejected *index.Rejected
		if err := ix.Apply(t.Context(), some(1)); !errors.As(err, &rejected) || len(rejected.Changes) != 1 {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}
