package projection_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/test/wait"
)

// TestRealIndexHasAllRecords needs a server at CAIRN_TEST_ELASTICSEARCH. Two workers
// with separate connections share the work; one stops halfway.
func TestRealIndexHasAllRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.index = openReal
	leaves, _ := w.projectorOn(bustest.Dial(t, w.nats))
	stays := w.projector()
	const records = 400
	var last uint64
	for i := range records {
		last = w.put(fmt.Sprintf("net.s%d", i), fmt.Sprintf("audit number%d", i))
		if i == records/2 {
			leaves.Close()
		}
	}
	w.remove("net.s7")
	w.visible(stays, last)
	w.caughtUp(stays)
	real := w.opened[0]
	for id, want := range map[string]int{"net.s0": 1, "net.s399": 1, "net.s7": 0} {
		words := strings.Replace(id, "net.s", "number", 1)
		r, err := real.Search(t.Context(), index.Query{Kind: schemas.KindSkill, Text: words, TopK: 1})
		if err != nil || len(r.Hits) != want || want == 1 && r.Hits[0].ID != id {
			t.Errorf("%s: got %+v, %v, want %d hits", words, r.Hits, err, want)
		}
	}
	wait.Until(w.t, "all records are counted", func() bool {
		s, wrong := stays.Status(t.Context())
		return len(wrong) == 0 && s.Live == s.Fingerprint && s.Documents[schemas.KindSkill] == records-1
	})
	if got, err := stays.Reindex(t.Context()); err != nil || got.Records != records {
		t.Errorf("got %+v, %v, want %d records, the removed one included", got, err, records)
	}
	w.caughtUp(stays)
	if s, _ := stays.Status(t.Context()); s.Documents[schemas.KindSkill] != records-1 {
		t.Errorf("got %v, want as many documents as before", s.Documents)
	}
}

// BenchmarkRealVisible measures the time until a single record is visible.
func BenchmarkRealVisible(b *testing.B) {
	w := newWorld(b)
	w.index = openReal
	p := w.projector()
	w.visible(p, w.put("net.first", "first"))
	for i := 0; b.Loop(); i++ {
		w.visible(p, w.put(fmt.Sprintf("net.s%d", i), "audit"))
	}
}

// openReal opens an index of the test's own, deleted afterwards.
func openReal(w *world) index.Migrator {
	w.t.Helper()
	server := strings.TrimSuffix(os.Getenv("CAIRN_TEST_ELASTICSEARCH"), "/")
	if server == "" {
		w.t.Skip("CAIRN_TEST_ELASTICSEARCH does not name an Elasticsearch")
	}
	if w.prefix == "" {
		w.prefix = "test-" + strings.ToLower(rand.Text()[:10])
		w.t.Cleanup(func() { clean(w.t, server, w.prefix) })
	}
	e, err := embed.Open(w.t.Context(), "lexical:")
	if err != nil {
		w.t.Fatal(err)
	}
	ix, err := index.Open(server+"?timeout=60s&prefix="+w.prefix, e, "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(ix.Close)
	return ix.(index.Migrator)
}

// clean deletes the indices with the prefix.
func clean(t testing.TB, server, prefix string) {
	var entries []struct{ Index string }
	body := requestServer(t, http.MethodGet, server+"/_cat/indices/"+prefix+"-*?format=json")
	if err := json.Unmarshal(body, &entries); err != nil {
		t.Errorf("indices of %s: %v", prefix, err)
	}
	for _, f := range entries {
		requestServer(t, http.MethodDelete, server+"/"+f.Index)
	}
}

func requestServer(t testing.TB, method, url string) []byte {
	req, err := http.NewRequestWithContext(context.Background(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // goleak: keep no connection
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
