package index_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/services/internal/index"
)

// FuzzElasticsearch returns arbitrary responses of an Elasticsearch: hits have
// ordered scores from 0 to 1, or there are none, and an invalid response is an error.
func FuzzElasticsearch(f *testing.F) {
	hit := func(score string) string {
		return `{"status":200,"hits":{"hits":[{"_index":"$INDEX","_score":` + score +
			`,"fields":{"id":["net.vlans"]}},{"_score":0.1,"fields":{"id":["b"]}}]}}`
	}
	for _, seed := range [][3]string{
		{hit("0.9"), `{"status":201}`, `{}`},
		{hit("1e308"), `{"status":400,"error":{"type":"a","reason":"b"}}`,
			`{"cairn-skill-0123456789ab-1":{"aliases":{"cairn-skill":{}},"settings":{"index":{"uuid":"u","creation_date":"1"}}}}`},
		{hit("-1e308"), `{"status":-1}`, `{"error":{"type":"x"},"status":400}`}, {hit("null"), `{"status":404}`, `[]`},
		{`{"status":404,"error":{"type":"index_not_found_exception"}}`, `{}`, `null`},
		{`{"hits":{"hits":[{"fields":{"id":[]}},{"fields":null}]}}`, `{"status":409}`, "\xff"},
		{`{"status":1e400}`, `x`, `{`},
		{strings.Replace(hit("0.9"), "0.1", "-0.5", 1), `{"status":429}`, `{}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), []byte(seed[2]), 200)
	}
	f.Add([]byte(``), []byte(``), []byte(`<html>`), 503)
	model := lexical(f)
	good, bad := newStub(f), &constant{}
	must(f, openAt(f, good.URL, model).Apply(f.Context(), some(1)))
	server := httptest.NewServer(bad)
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, search, item, indices []byte, status int) {
		if status < 200 || status > 599 {
			return // not a valid status
		}
		search = bytes.ReplaceAll(search, []byte("$INDEX"), []byte(good.live("skill")))
		good.onSearch(func(w http.ResponseWriter, r *http.Request) { repeat(w, r, status, "responses", search) })
		good.onBulk(func(w http.ResponseWriter, r *http.Request) {
			repeat(w, r, status, "items", fmt.Appendf(nil, `{"index":%s}`, item))
		})
		ix := openAt(t, good.URL, model)
		_ = ix.Apply(t.Context(), some(2)) // any result, but it must return
		for _, method := range []index.Method{index.Hybrid, index.Text, index.Vector} {
			q := vlans
			q.By = method
			if result, err := ix.Search(t.Context(), q); err == nil {
				checkHits(t, result, q)
			}
		}
		bad.answer.Store(&answer{status, indices})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_ = openAt(t, server.URL, model).Apply(ctx, some(1)) // any result, but it must return
	})
}

// constant gives every request the same response.
type constant struct{ answer atomic.Pointer[answer] }

type answer struct {
	status int
	body   []byte
}

// ServeHTTP implements http.Handler.
func (h *constant) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a := h.answer.Load()
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repeat gives each operation of a request the same answer.
func repeat(w http.ResponseWriter, r *http.Request, status int, name string, answer []byte) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{%q:[`, name)
	for i := range lines(r) / 2 {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		_, _ = w.Write(answer)
	}
	fmt.Fprint(w, `]}`)
}

func checkHits(t *testing.T, result index.Result, q index.Query) {
	t.Helper()
	if len(result.Hits) > q.TopK {
		t.Errorf("%d hits, for %+v", len(result.Hits), q)
	}
	last, seen := 1.0, map[string]bool{}
	for _, h := range result.Hits {
		if !(h.Score > 0 && h.Score <= last) || math.IsNaN(h.Score) || seen[h.ID] {
			t.Errorf("hits %+v", result.Hits)
		}
		last, seen[h.ID] = h.Score, true
	}
}
