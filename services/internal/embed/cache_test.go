package embed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/services/internal/embed"
	"cairn/services/internal/model/ollamatest"
	"cairn/test/wait"
)

// stream returns the JetStream context of a new server.
func stream(t testing.TB) jetstream.JetStream {
	t.Helper()
	return bustest.Open(t).JetStream()
}

func openCache(t testing.TB, js jetstream.JetStream) *embed.Cache {
	t.Helper()
	if err := embed.Setup(t.Context(), js,
		bucket.Replication{Replicas: 1, Storage: bucket.Storage{Bytes: 1 << 30}}); err != nil {
		t.Fatal(err)
	}
	c, err := embed.OpenCache(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// waitForVectors waits until the bucket has n vectors.
func waitForVectors(t testing.TB, js jetstream.JetStream, n uint64) jetstream.KeyValue {
	t.Helper()
	kv, err := js.KeyValue(t.Context(), embed.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	wait.Success(t, func() error {
		status, err := kv.Status(t.Context())
		if err == nil && status.Values() != n {
			err = fmt.Errorf("the bucket has %d vectors, want %d", status.Values(), n)
		}
		return err
	})
	return kv
}

// warmed is a warmed-up model of s with its vectors cached in c.
func warmed(t testing.TB, s *ollamatest.Server, c *embed.Cache) embed.Embedder {
	t.Helper()
	e, err := embed.Open(t.Context(), "ollama://"+s.Host()+"/all-minilm")
	if err != nil {
		t.Fatal(err)
	}
	if err := embed.Warm(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return embed.Cached(e, c)
}

// received returns the texts that s embedded, without those of warming up.
func received(s *ollamatest.Server) (all [][]string) {
	for _, req := range s.Embeds() {
		if texts := req.Input.([]string); texts[0] != "a text" {
			all = append(all, texts)
		}
	}
	return all
}

func TestCacheEmbedsMissingTexts(t *testing.T) {
	t.Parallel()
	s, js := serve(t), stream(t)
	e := warmed(t, s, openCache(t, js))
	first := vectors(t, e, embed.Document, "red", "blue", "red")
	waitForVectors(t, js, 2)
	second := vectors(t, e, embed.Document, "green", "red", "blue", "")
	if diff := cmp.Diff([][]string{{"red", "blue"}, {"green"}}, received(s)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	want := [][]float32{first[0], first[1]}
	if diff := cmp.Diff(want, second[1:3]); diff != "" || len(second[3]) != 64 || cmp.Equal(second[0], second[1]) {
		t.Errorf("vectors (-want +got):\n%s\nand %v", diff, second)
	}
	vectors(t, e, embed.Query, "red") // a query may have another vector than a document
	if got := received(s); len(got) != 3 {
		t.Errorf("requests %q, want the query as well", got)
	}
}

// restarted starts a server with its files in dir.
func restarted(t *testing.T, dir string) (js jetstream.JetStream, stop func()) {
	t.Helper()
	s, err := natsserver.Start(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return bustest.Dial(t, s).JetStream(), s.Stop
}

func TestCacheSurvivesRestart(t *testing.T) {
	t.Parallel()
	s, dir := serve(t), t.TempDir()
	texts := make([]string, 1200) // more than the server returns in one batch
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d", i)
	}
	js, stop := restarted(t, dir)
	first := vectors(t, warmed(t, s, openCache(t, js)), embed.Document, texts...)
	query := vectors(t, warmed(t, s, openCache(t, js)), embed.Query, "red")
	waitForVectors(t, js, 1201)
	stop()

	before := len(received(s))
	js, stop = restarted(t, dir)
	defer stop()
	e := warmed(t, s, openCache(t, js))
	if diff := cmp.Diff(first, vectors(t, e, embed.Document, texts...)); diff != "" {
		t.Errorf("documents (-want +got):\n%.500s", diff)
	}
	if diff := cmp.Diff(query, vectors(t, e, embed.Query, "red")); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	if additions := received(s)[before:]; len(additions) > 0 {
		t.Errorf("embedded %d texts again", len(slices.Concat(additions...)))
	}
}

func TestCacheKeepsPartialResults(t *testing.T) {
	t.Parallel()
	s, js := serve(t), stream(t)
	e := warmed(t, s, openCache(t, js))
	var texts []string
	for i := range 100 {
		texts = append(texts, fmt.Sprintf("text number %d", i))
	}
	s.SetEmbedding(func(received []string) (e ollamatest.Embedding) {
		if slices.Contains(received, texts[99]) {
			e.Status, e.Error = 503, "server busy"
		}
		return e
	})
	if _, err := e.Embed(t.Context(), embed.Document, texts); !errors.Is(err, embed.ErrUnavailable) {
		t.Fatalf("got %v, want %v", err, embed.ErrUnavailable)
	}
	waitForVectors(t, js, 96)
}

func TestCacheServesWithoutModel(t *testing.T) {
	t.Parallel()
	s, js := serve(t), stream(t)
	e := warmed(t, s, openCache(t, js))
	vectors(t, e, embed.Document, "red")
	vectors(t, e, embed.Query, "red")
	waitForVectors(t, js, 2)
	s.Close()
	vectors(t, e, embed.Document, "red")
	vectors(t, e, embed.Query, "red")
}

func TestCacheSeparatesModels(t *testing.T) {
	t.Parallel()
	other := minilm
	other.Name, other.Digest, other.Dimensions = "other:latest", "71c2081242015f0e", 32
	s, js := serve(t, minilm, other), stream(t)
	c := openCache(t, js)
	for _, row := range []struct {
		model      string
		dimensions int
	}{{"all-minilm", 64}, {"other", 32}, {"all-minilm?query_prefix=q", 64}} {
		e := embed.Cached(open(t, s, row.model), c)
		for range 2 { // the first call reports the space, the second hits the cache
			if got := vectors(t, e, embed.Document, "red"); len(got[0]) != row.dimensions {
				t.Errorf("%s: got %d dimensions, want %d", row.model, len(got[0]), row.dimensions)
			}
		}
	}
	waitForVectors(t, js, 3)
}

func TestCacheReplacesInvalidEntries(t *testing.T) {
	t.Parallel()
	s, js := serve(t), stream(t)
	e := warmed(t, s, openCache(t, js))
	want := vectors(t, e, embed.Document, "red", "blue")
	kv := waitForVectors(t, js, 2)
	keys, err := kv.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, corrupt := range [][]byte{{1, 2, 3}, slices.Repeat([]byte{0xff}, 128)} { // too short; not finite
		if _, err := kv.Put(t.Context(), keys[i], corrupt); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, vectors(t, e, embed.Document, "red", "blue")); diff != "" {
		t.Errorf("vectors (-want +got):\n%s", diff)
	}
	if got := received(s); len(got) != 2 {
		t.Errorf("requests %q, want both again", got)
	}
}

func TestFailingCacheLosesNoVector(t *testing.T) {
	t.Parallel()
	s, js := serve(t), stream(t)
	e := warmed(t, s, openCache(t, js))
	want := vectors(t, e, embed.Document, "red")
	js.Conn().Close()
	for range 10 {
		if diff := cmp.Diff(want, vectors(t, e, embed.Document, "red")); diff != "" {
			t.Errorf("vectors (-want +got):\n%s", diff)
		}
	}
}

func TestCachedModelIsWarmedAndWatched(t *testing.T) {
	t.Parallel()
	s := serve(t)
	e := embed.Cached(open(t, s, "all-minilm"), nil)
	if err := embed.Warm(t.Context(), e); err != nil || e.Space().Dimensions != 64 {
		t.Errorf("warm: got %v, %+v", err, e.Space())
	}
	for _, watched := range []embed.Embedder{e, lexical(t)} {
		if err := embed.Warm(t.Context(), watched); err != nil {
			t.Errorf("warm: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { embed.Monitor(ctx, watched); close(ended) }()
		select {
		case <-ended:
			t.Error("watch ended before its context")
		case <-time.After(20 * time.Millisecond):
		}
		stop()
		<-ended
	}
}

func lexical(t *testing.T) embed.Embedder {
	t.Helper()
	e, err := embed.Open(t.Context(), "lexical:")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestCacheOpensExistingBucket(t *testing.T) {
	t.Parallel()
	js := stream(t)
	openCache(t, js)
	openCache(t, js)
	s, err := js.Stream(t.Context(), "KV_"+embed.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	if c.PersistMode != jetstream.DefaultPersistMode || c.Discard != jetstream.DiscardOld || c.MaxBytes <= 0 {
		t.Errorf("got %+v, want one that is bounded, forgets the oldest and is in the default persist mode", c)
	}
	js.Conn().Close()
	if _, err := embed.OpenCache(t.Context(), js); err == nil ||
		!strings.Contains(err.Error(), embed.Bucket) {
		t.Errorf("without a server: got %v, want an error that names the bucket", err)
	}
}
