package bench

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// BenchmarkRegisterElasticsearch compares "cairn register" of the whole corpus with the
// bulk indexer of the Elasticsearch client for Go, which writes the same documents. Both
// start with an empty index and end when all documents are searchable. The vectors are
// computed before: Cairn has them in its cache, the baseline in the documents.
func BenchmarkRegisterElasticsearch(b *testing.B) {
	elastic, setting := elasticServer(b)
	corpus := evaluation(b, "retrieval", "corpus.jsonl")
	prefix := strings.TrimPrefix(setting, "?prefix=")
	l := newLibrarian(b, elastic)
	documents, layout := l.write(b, prefix+"-first", corpus)
	file := filepath.Join(b.TempDir(), "documents")
	must(b, os.WriteFile(file, documents, 0o600))
	records := len(linesOf(b, corpus))
	if n := bytes.Count(documents, []byte("\n")); n != 2*records {
		b.Fatalf("%d records are %d lines of operations, want 2 each", records, n)
	}
	bulk := bulkIndexer(b)
	cairn := func() float64 { return float64(records) / l.register(b, prefix+"-cairn", corpus, records) }
	baseline := func() float64 {
		return float64(records) / writeInBulk(b, bulk, elastic, prefix+"-baseline", layout, file, records)
	}
	cairn()
	baseline() // warm-up
	var c, r []float64
	for i := range rounds(b) {
		if i%2 == 0 {
			c, r = append(c, cairn()), append(r, baseline())
		} else {
			r, c = append(r, baseline()), append(c, cairn())
		}
	}
	report(b, "records/s", c, r)
}

// bulkIndexer builds the baseline, which is a separate module, and returns its path.
func bulkIndexer(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bulkindexer")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "testdata/bulkindexer"
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build the bulk indexer: %v\n%s", err, out)
	}
	return path
}

// writeInBulk returns how long the baseline takes, in seconds.
func writeInBulk(b *testing.B, bulk, elastic, index string, layout []byte, file string, records int) float64 {
	b.Helper()
	send(b, http.MethodPut, elastic+"/"+index, layout)
	defer send(b, http.MethodDelete, elastic+"/"+index, nil)
	out, err := exec.Command(bulk, elastic, index, file).CombinedOutput()
	if err != nil {
		b.Fatalf("bulk indexer: %v\n%s", err, out)
	}
	if n := found(b, elastic, index); n != records {
		b.Fatalf("the bulk indexer wrote %d records of %d", n, records)
	}
	took, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	must(b, err)
	return took
}

// instance runs Cairn with a stub embedding model. Its data directory keeps the cached
// vectors between runs.
type instance struct {
	elastic, data, nats, model string
	embedded                   *atomic.Int64 // number of embedded texts
}

func newLibrarian(b *testing.B, elastic string) instance {
	b.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	defer func() { _ = free.Close() }()
	embedded := new(atomic.Int64)
	model := httptest.NewServer(embedder(embedded))
	b.Cleanup(model.Close)
	return instance{elastic, filepath.Join(b.TempDir(), "data"), free.Addr().String(),
		strings.Replace(model.URL, "http", "ollama", 1) + "/bench", embedded}
}

// up starts Cairn. done deletes the catalog and stops it.
func (l instance) up(b *testing.B, index string) (at string, done func()) {
	b.Helper()
	s := up(b, "--nats-listen", l.nats, "--data", l.data, "--embed", l.model, "--index", index)
	return s.at, func() {
		nc, err := nats.Connect("nats://" + l.nats)
		must(b, err)
		js, err := nc.JetStream()
		must(b, err)
		must(b, js.DeleteStream("KV_cairn_catalog"))
		nc.Close()
		_ = s.process.Stop()
	}
}

// register registers the corpus and returns the time until all records are searchable, in
// seconds.
func (l instance) register(b *testing.B, prefix, corpus string, records int) float64 {
	b.Helper()
	at, done := l.up(b, l.elastic+"?prefix="+prefix)
	defer forget(b, l.elastic, prefix)
	defer done()
	before, began := l.embedded.Load(), time.Now()
	registerAll(b, at, corpus)
	for found(b, l.elastic, prefix+"-skill") < records {
		if time.Since(began) > 10*time.Minute {
			b.Fatal("not all records can be found")
		}
	}
	took := time.Since(began).Seconds()
	if n := l.embedded.Load() - before; n > 10 { // the health check of the model embeds some
		b.Fatalf("%d texts were embedded, want them in the cache", n)
	}
	return took
}

// write returns the documents that Cairn sends to Elasticsearch for the corpus, and the
// body with which it creates the index.
func (l instance) write(b *testing.B, prefix, corpus string) (documents, layout []byte) {
	b.Helper()
	target, err := url.Parse(l.elastic)
	must(b, err)
	through := httputil.NewSingleHostReverseProxy(target)
	through.ErrorLog = log.New(io.Discard, "", 0) // requests are canceled when Cairn stops
	var mu sync.Mutex
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the server rejects a truncated body
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		switch {
		case strings.HasSuffix(r.URL.Path, "/_bulk"):
			documents = append(documents, body...)
		case r.Method == http.MethodPut && strings.Contains(r.URL.Path, "-skill-"):
			layout = body
		}
		mu.Unlock()
		through.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	at, done := l.up(b, proxy.URL+"?prefix="+prefix)
	defer forget(b, l.elastic, prefix)
	defer done()
	registerAll(b, at, corpus)
	var settings map[string]json.RawMessage
	must(b, json.Unmarshal(layout, &settings))
	delete(settings, "aliases")
	layout, err = json.Marshal(settings)
	must(b, err)
	return documents, layout
}

// embedder implements the API of Ollama for a model that adds up a random vector for each
// word of a text. It counts the texts.
func embedder(texts *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Input []string }
		switch r.URL.Path {
		case "/api/show":
			_, _ = io.WriteString(w, `{"capabilities": ["embedding"], "model_info": {}}`)
			return
		case "/api/tags":
			_, _ = io.WriteString(w, `{"models": [{"name": "bench", "model": "bench", "digest": "1"}]}`)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		texts.Add(int64(len(req.Input)))
		vectors := make([][384]float64, len(req.Input))
		for i, text := range req.Input {
			for _, word := range strings.Fields(text) {
				h := fnv.New64a()
				_, _ = io.WriteString(h, word) // a hash returns no errors
				random := rand.New(rand.NewPCG(h.Sum64(), 0))
				for d := range vectors[i] {
					vectors[i][d] += random.NormFloat64()
				}
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "bench", "embeddings": vectors})
	}
}

// found returns the number of searchable documents in the index.
func found(b *testing.B, elastic, index string) int {
	b.Helper()
	var counted struct{ Count int }
	must(b, json.Unmarshal(send(b, http.MethodGet, elastic+"/"+index+"/_count", nil), &counted))
	return counted.Count
}

// forget deletes the indices with the prefix.
func forget(b *testing.B, elastic, prefix string) {
	b.Helper()
	names := strings.Fields(string(send(b, http.MethodGet, elastic+"/_cat/indices/"+prefix+"-*?h=index", nil)))
	send(b, http.MethodDelete, elastic+"/"+strings.Join(names, ","), nil)
}

// send sends a request and returns the body of a successful response.
func send(b *testing.B, method, url string, body []byte) []byte {
	b.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	must(b, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	must(b, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	must(b, err)
	if res.StatusCode != http.StatusOK {
		b.Fatalf("%s %s: %s %s", method, url, res.Status, answer)
	}
	return answer
}
