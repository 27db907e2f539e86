package index_test

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/index/indextest"
)

// TestRealElasticsearch runs on the server that CAIRN_TEST_ELASTICSEARCH names.
func TestRealElasticsearch(t *testing.T) {
	t.Parallel()
	server(t)
	indextest.Run(t, func(t testing.TB) index.Index { return openReal(t, lexical(t)) })
}

// server is the URL of the Elasticsearch to test with.
func server(t testing.TB) string {
	t.Helper()
	url := os.Getenv("CAIRN_TEST_ELASTICSEARCH")
	if url == "" {
		t.Skip("CAIRN_TEST_ELASTICSEARCH does not name an Elasticsearch")
	}
	return strings.TrimSuffix(url, "/")
}

// openReal is an index of its own on the server, gone after the test.
func openReal(t testing.TB, e embed.Embedder) index.Migrator {
	t.Helper()
	prefix := newPrefix(t)
	return openAt(t, server(t)+"?timeout=60s&prefix="+prefix, e)
}

func openAt(t testing.TB, url string, e embed.Embedder) index.Migrator {
	t.Helper()
	return openURL(t, url, e).(index.Migrator)
}

// newPrefix is one that nobody else uses; what has it is deleted in the end.
func newPrefix(t testing.TB) string {
	t.Helper()
	url, prefix := server(t), "test-"+strings.ToLower(rand.Text()[:10])
	t.Cleanup(func() {
		var found []struct{ Index string }
		ask(t, http.MethodGet, url+"/_cat/indices/"+prefix+"-*?format=json", "", &found)
		for _, f := range found {
			ask(t, http.MethodDelete, url+"/"+f.Index, "", nil)
		}
	})
	return prefix
}

// ask sends a request past the index under test.
func ask(t testing.TB, method, url, body string, answer any) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true // no connection outlives the test
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
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
