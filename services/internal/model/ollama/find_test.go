package ollama_test

import (
	"context"
	"testing"
	"time"

	types "github.com/ollama/ollama/types/model"

	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/ollamatest"
)

func TestFind(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	able := []types.Capability{types.CapabilityCompletion, types.CapabilityTools}
	info := func(name string, size int64) ollamatest.Info {
		return ollamatest.Info{Name: name, Size: size, Capabilities: able}
	}
	embedder := ollamatest.Info{Name: "embed:latest", Size: 9 * gib,
		Capabilities: []types.Capability{types.CapabilityEmbedding}}
	noTools := ollamatest.Info{Name: "talk:latest", Size: 8 * gib,
		Capabilities: []types.Capability{types.CapabilityCompletion}}
	cloud := ollamatest.Info{Name: "huge:cloud", Size: 400, Capabilities: able, RemoteHost: "https://ollama.com:443"}
	for _, row := range []struct {
		name   string
		models []ollamatest.Info
		want   string // empty: none
	}{
		{"no models", nil, ""},
		{"no suitable model", []ollamatest.Info{embedder, noTools, cloud}, ""},
		{"the largest of up to 10 GiB",
			[]ollamatest.Info{info("a:1b", gib), embedder, info("b:8b", 5*gib), info("c:70b", 40*gib), noTools,
				cloud}, "b:8b"},
		{"the smallest of larger ones", []ollamatest.Info{info("c:70b", 40*gib), info("d:32b", 20*gib)}, "d:32b"},
		{"the first by name of equal sizes", []ollamatest.Info{info("b:1b", gib), info("a:1b", gib)}, "a:1b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := ollamatest.New(t)
			srv.SetModels(row.models...)
			want := ""
			if row.want != "" {
				want = "ollama://" + srv.Host() + "/" + row.want
			}
			for _, host := range []string{srv.Host(), "http://" + srv.Host(), " " + srv.Host() + "/ "} {
				got, ok := ollama.Find(t.Context(), host)
				if got != want || ok != (want != "") {
					t.Errorf("found %q, %v at %q; want %q", got, ok, host, want)
				}
			}
		})
	}
}

func TestFindWildcardAddress(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t)
	port := srv.Host()[len("127.0.0.1:"):]
	if got, ok := ollama.Find(t.Context(), "0.0.0.0:"+port); !ok || got != srv.URL() {
		t.Errorf("found %q, %v; want %q", got, ok, srv.URL())
	}
}

func TestFindTimeout(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1:1", "192.0.2.1", "no such host", "http://%"} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if got, ok := ollama.Find(ctx, host); ok || got != "" {
			t.Errorf("found %q at %q", got, host)
		}
		if ctx.Err() != nil {
			t.Errorf("%q: no result within 10 s, want one after 200 ms", host)
		}
		cancel()
	}
}
