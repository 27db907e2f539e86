package index_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/index/indextest"
)

// TestRealElasticsearch needs a server at CAIRN_TEST_ELASTICSEARCH.
func TestRealElasticsearch(t *testing.T) {
	t.Parallel()
	server(t)
	indextest.Run(t, func(t testing.TB) index.Index { return openReal(t, lexical(t)) })
}

func TestRealModel(t *testing.T) {
	t.Parallel()
	testModel(t, func(t testing.TB, e embed.Embedder) index.Index { return openReal(t, e) })
}

func TestRealModelComparesEachExample(t *testing.T) {
	t.Parallel()
	testExamples(t, func(t testing.TB, e embed.Embedder) index.Index { return openReal(t, e) })
}

// TestRealDeliveries delivers the same changes to two workers, reordered and
// repeatedly. Both must converge to the state of an ordered delivery.
func TestRealDeliveries(t *testing.T) {
	t.Parallel()
	url := server(t) + "?timeout=60s&prefix=" + newPrefix(t)
	log, last := history(60)
	var group sync.WaitGroup
	for worker := range uint64(2) {
		ix := openAt(t, url, lexical(t))
		again := append(slices.Clone(log), log...)
		shuffle := mathrand.New(mathrand.NewPCG(worker, 1))
		shuffle.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		group.Go(func() {
			for batch := range slices.Chunk(again, 17) {
				if err := ix.Apply(t.Context(), batch); err != nil {
					t.Errorf("apply: %v", err)
				}
			}
		})
	}
	group.Wait()
	ix := openAt(t, url, lexical(t))
	fill(t, ix, nil)
	for _, c := range log {
		got, want := search(t, ix, c.Title, 1), []string(nil)
		if last[c.ID] == c.Revision {
			want = []string{c.ID}
		}
		if diff := cmp.Diff(want, got); diff != "" && !c.Removed {
			t.Errorf("the words of revision %d (-want +got):\n%s", c.Revision, diff)
		}
	}
}

// history returns changes of n documents, each with a distinct word, and the final
// revision of each; 0 for a removed one.
func history(n int) (log []index.Change, last map[string]uint64) {
	last = map[string]uint64{}
	for round := range 5 {
		for i := range n {
			revision := uint64(len(log) + 1)
			c := index.Change{Revision: revision, Document: index.Document{
				Kind: "skill", ID: fmt.Sprintf("thing.%d", i), Title: fmt.Sprintf("word%dx", revision),
			}}
			last[c.ID] = revision
			if c.Removed = (i+round)%4 == 0; c.Removed {
				last[c.ID] = 0
			}
			log = append(log, c)
		}
	}
	return log, last
}

// TestRealFilters places a document among more neighbours of another tenant than a
// kNN search examines.
func TestRealFilters(t *testing.T) {
	t.Parallel()
	ix := openReal(t, model{new(bool)})
	var changes []index.Change
	for i, c := range some(400) {
		c.Title, c.Tenant = "espresso coffee", "globex"
		if i == 0 {
			c.Title, c.Tenant = "tea vlan", "acme"
		}
		changes = append(changes, c)
	}
	if err := ix.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	got, err := ix.Search(t.Context(), index.Query{Kind: "skill", Tenant: "acme", Text: "beverage", TopK: 5})
	if err != nil || len(got.Hits) != 1 || got.Hits[0].ID != "doc.0" || got.Hits[0].VectorRank != 1 {
		t.Errorf("got %+v, %v, want the one document of the tenant", got, err)
	}
}

// TestRealQueries exceeds the limits of Elasticsearch, by words.
func TestRealQueries(t *testing.T) {
	t.Parallel()
	away := false
	ix := openReal(t, model{&away})
	c := some(1)
	c[0].Title, c[0].Body = "Überwachung 网络监控", strings.Repeat("サーバー 网络监控 ", 20_000)
	c[0].Domain, c[0].ID = strings.Repeat("long", 10_000), "doc."+strings.Repeat("ü", 252)
	if err := ix.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	away = true
	for name, query := range map[string]string{
		"many words":                "Überwachung" + strings.Repeat(" of many words more", 20_000),
		"many sentences":            strings.Repeat("Show the Überwachung of hosts. ", 1_000),
		"words without spaces":      strings.Repeat("网络监控", 5_000),
		"a very long word":          "Überwachung " + strings.Repeat("x", 100_000),
		"punctuation and operators": "Überwachung AND (NOT \"a* ~2\" OR [1 TO 2] \\ /re/ {!}",
		"an empty text":             "Überwachung \x00\xff\xfe",
	} {
		if got := search(t, ix, query, 5); !slices.Equal(got, []string{c[0].ID}) {
			t.Errorf("%s: got %v, want the document", name, got)
		}
	}
}

func TestRealBlockedWrites(t *testing.T) {
	t.Parallel()
	prefix := newPrefix(t)
	ix := openAt(t, server(t)+"?prefix="+prefix, lexical(t))
	fill(t, ix, some(1))
	settings := server(t) + "/" + prefix + "-skill/_settings"
	requestServer(t, http.MethodPut, settings, `{"index.blocks.write":true}`, nil)
	if err := ix.Apply(t.Context(), some(3)); !errors.Is(err, index.ErrUnavailable) {
		t.Errorf("apply: got %v, want %v", err, index.ErrUnavailable)
	}
	if got := search(t, ix, "document 0", 1); len(got) != 1 {
		t.Errorf("concurrent search: got %v, want a document", got)
	}
	requestServer(t, http.MethodPut, settings, `{"index.blocks.write":false}`, nil)
	if err := ix.Apply(t.Context(), some(3)); err != nil {
		t.Errorf("apply again: %v", err)
	}
}

// TestRealWords compares the tokens of Elasticsearch with those of the embedder,
// which the embedded index uses.
func TestRealWords(t *testing.T) {
	t.Parallel()
	prefix := newPrefix(t)
	ix := openAt(t, server(t)+"?prefix="+prefix, lexical(t))
	name := generation(t, ix)
	suffix := name[:strings.LastIndex(name, "-")]
	for _, text := range []string{
		"What can I do with the certificates?",
		"I\u2019d see what\u2019s new in Ann\u2019s host",
		"aws.ec2.list_vlans",
		"listVLANs of the DescribeInstances kind",
		"Überwachung Сервер",
		"Will it just be now that we can expire the licences, won't it?",
		"generously dying news universities",
		" !? -- ",
	} {
		body, err := json.Marshal(map[string]any{"analyzer": "words", "text": embed.Plain(text)})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Tokens []struct{ Token string } }
		requestServer(t, http.MethodPost, server(t)+"/"+prefix+"-skill-"+suffix+"/_analyze", string(body), &answer)
		got := []string{}
		for _, token := range answer.Tokens {
			got = append(got, token.Token)
		}
		if diff := cmp.Diff(embed.Words(text), got); diff != "" {
			t.Errorf("%q (-embedder +Elasticsearch):\n%s", text, diff)
		}
	}
}

// server is the URL of the Elasticsearch under test.
func server(t testing.TB) string {
	t.Helper()
	url := os.Getenv("CAIRN_TEST_ELASTICSEARCH")
	if url == "" {
		t.Skip("needs CAIRN_TEST_ELASTICSEARCH, the URL of an Elasticsearch server")
	}
	return strings.TrimSuffix(url, "/")
}

// openReal opens an index of the test's own, live from the start and deleted after
// the test.
func openReal(t testing.TB, e embed.Embedder) index.Migrator {
	t.Helper()
	ix := openAt(t, server(t)+"?timeout=60s&prefix="+newPrefix(t), e)
	fill(t, ix, nil)
	return ix
}

func openAt(t testing.TB, url string, e embed.Embedder) index.Migrator {
	t.Helper()
	return openURL(t, url, e).(index.Migrator)
}

// newPrefix returns a unique prefix, whose indices are deleted after the test.
func newPrefix(t testing.TB) string {
	t.Helper()
	url, prefix := server(t), "test-"+strings.ToLower(rand.Text()[:10])
	t.Cleanup(func() {
		var entries []struct{ Index string }
		requestServer(t, http.MethodGet, url+"/_cat/indices/"+prefix+"-*?format=json", "", &entries)
		for _, f := range entries {
			requestServer(t, http.MethodDelete, url+"/"+f.Index, "", nil)
		}
	})
	return prefix
}

// requestServer sends a request to the server directly.
func requestServer(t testing.TB, method, url, body string, answer any) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // goleak: keep no connection
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }() // the body was read
	if res.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: status %s", method, url, res.Status)
	}
	if answer == nil {
		return
	}
	if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
		t.Fatal(err)
	}
}
