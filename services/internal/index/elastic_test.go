package index_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
)

func TestElasticSettings(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://":                          "no host",
		"http://host:port":                 "port",
		"http://host?prefix=Cairn":         "prefix",
		"http://host?prefix=-cairn":        "prefix",
		"http://host?timeout=soon":         "timeout",
		"http://host?timeout=-1s":          "timeout",
		"http://host?shards=3":             "expected prefix or timeout",
		"https://me:secret@host?timeout=0": "me:xxxxx@host",
	} {
		if _, err := index.Open(url, nil, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open %q: got %v, want an error that contains %q", url, err, want)
		}
	}
}

func TestElasticOpensWithoutServer(t *testing.T) {
	t.Parallel()
	ix := openAt(t, "http://127.0.0.1:1", lexical(t))
	if err := ix.Apply(t.Context(), some(1)); !errors.Is(err, index.ErrUnavailable) {
		t.Errorf("apply: got %v, want %v", err, index.ErrUnavailable)
	}
	if _, err := ix.Search(t.Context(), vlans); !errors.Is(err, index.ErrUnavailable) {
		t.Errorf("search: got %v, want %v", err, index.ErrUnavailable)
	}
	if err := ix.Check(t.Context()); !errors.Is(err, index.ErrUnavailable) {
		t.Errorf("check: got %v, want %v", err, index.ErrUnavailable)
	}
}

func TestElasticBulk(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		status   map[int]int // by position, of rejected operations
		want     error
		rejected []string
	}{
		{"all documents are written", nil, nil, nil},
		{"newer revisions are indexed", map[int]int{0: 409, 3: 409}, nil, nil},
		{"half of the documents are rejected", map[int]int{1: 400, 3: 400}, nil, []string{"doc.1", "doc.3"}},
		{"half of the documents exceed the disk", map[int]int{1: 429, 2: 429}, index.ErrUnavailable, nil},
		{"half of the documents have no shard", map[int]int{1: 503, 2: 503}, index.ErrUnavailable, nil},
		{"writes are blocked", map[int]int{0: 403}, index.ErrUnavailable, nil},
		{"temporary errors take precedence", map[int]int{0: 400, 1: 503}, index.ErrUnavailable, nil},
		{"the index is lost", map[int]int{0: 404, 1: 404, 2: 404, 3: 404}, index.ErrLost, nil},
	} {
		s := newStub(t)
		s.onBulk(func(w http.ResponseWriter, r *http.Request) { answerItems(w, r, row.status) })
		err := openAt(t, s.URL, lexical(t)).Apply(t.Context(), some(4))
		var rejected *index.Rejected
		switch {
		case errors.As(err, &rejected):
			var got []string
			for _, c := range rejected.Changes {
				got = append(got, c.ID)
			}
			if diff := cmp.Diff(row.rejected, got); diff != "" || !strings.Contains(err.Error(), "for a reason") {
				t.Errorf("%s: %v (-want +got):\n%s", row.name, err, diff)
			}
		case row.rejected != nil || !errors.Is(err, row.want):
			t.Errorf("%s: got %v, want %v and %v rejected", row.name, err, row.want, row.rejected)
		}
	}
}

func TestElasticRejectsUnknownKinds(t *testing.T) {
	t.Parallel()
	changes := some(2)
	changes[0].Kind = "context_builder"
	err := openAt(t, newStub(t).URL, lexical(t)).Apply(t.Context(), changes)
	var rejected *index.Rejected
	if !errors.As(err, &rejected) || len(rejected.Changes) != 1 || rejected.Changes[0].Kind != "context_builder" {
		t.Errorf("got %v, want the context builder rejected", err)
	}
}

// TestElasticAddsKinds opens an index of an earlier version without the index of a kind: the log is applied again under
// another name, while skills are searched.
func TestElasticAddsKinds(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	fill(t, openAt(t, s.URL, lexical(t)), some(1))
	skills := s.live("skill")
	s.remove("guardrail")
	earlier := generation(t, openAt(t, s.URL, lexical(t))) // creates the index
	s.remove("guardrail")
	ix := openAt(t, s.URL, lexical(t))
	name := generation(t, ix)
	if name == earlier || s.live("guardrail") == "" || s.live("skill") != skills {
		t.Errorf("generation %s after %s, want another one with the same index of skills", name, earlier)
	}
	if status, err := ix.Status(t.Context()); err != nil || status.Live != "" {
		t.Errorf("status: %+v, %v, want none live until the log is applied", status, err)
	}
	fill(t, ix, some(1))
	if status, err := ix.Status(t.Context()); err != nil || status.Live != status.Fingerprint {
		t.Errorf("status: %+v, %v, want it live", status, err)
	}
}

// picky is a model that rejects one text.
type picky struct{ model }

func (p picky) Embed(ctx context.Context, purpose embed.Purpose, texts []string) ([][]float32, error) {
	if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "Document 2") }) {
		return nil, fmt.Errorf("%w: no", embed.ErrRejected)
	}
	return p.model.Embed(ctx, purpose, texts)
}

func TestElasticRejectsTextsRejectedByModel(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	s := newStub(t)
	s.onBulk(func(w http.ResponseWriter, r *http.Request) { taken.Add(int64(answerItems(w, r, nil))) })
	err := openAt(t, s.URL, picky{model{new(bool)}}).Apply(t.Context(), some(7))
	var rejected *index.Rejected
	if !errors.As(err, &rejected) || len(rejected.Changes) != 1 || rejected.Changes[0].ID != "doc.2" || taken.Load() != 6 {
		t.Errorf("got %v and %d written, want doc.2 rejected and the others written", err, taken.Load())
	}
}

func TestElasticBisectsLargeBatches(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	s := newStub(t)
	s.onBulk(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 40_000 {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		taken.Add(1)
		answerItems(w, r, nil)
	})
	changes := some(9)
	changes[4].Body = strings.Repeat("word ", 20_000)
	err := openAt(t, s.URL, lexical(t)).Apply(t.Context(), changes)
	var rejected *index.Rejected
	if !errors.As(err, &rejected) || len(rejected.Changes) != 1 || rejected.Changes[0].ID != "doc.4" {
		t.Errorf("got %v, want doc.4 rejected", err)
	}
	if taken.Load() == 0 {
		t.Error("no batch was bisected")
	}
}

// faults are faults of any request.
var faults = map[string]http.HandlerFunc{
	"429": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"type":"es_rejected_execution_exception","reason":"queue full"},"status":429}`)
	},
	"503":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
	"401":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
	"slow":       func(_ http.ResponseWriter, r *http.Request) { drain(r); <-r.Context().Done() },
	"garbage":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>It works!</html>") },
	"too little": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[],"responses":[]}`) },
	"cut off":    func(_ http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
}

// drain reads the body; a server notices a canceled request only afterwards.
func drain(r *http.Request) { lines(r) }

func TestElasticFaults(t *testing.T) {
	t.Parallel()
	for name, handle := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t)
			s.onSearch(handle)
			ix := openAt(t, s.URL+"?timeout=100ms", lexical(t))
			if _, err := ix.Search(t.Context(), vlans); !errors.Is(err, index.ErrUnavailable) {
				t.Errorf("search: got %v, want %v", err, index.ErrUnavailable)
			}
			s.onBulk(handle)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := ix.Apply(ctx, some(1))
			if !errors.Is(err, index.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("apply: got %v, want %v", err, index.ErrUnavailable)
			}
		})
	}
}

func TestElasticRetriesSearchOnBrokenConnection(t *testing.T) {
	t.Parallel()
	var received atomic.Int64
	s := newStub(t)
	s.onSearch(func(w http.ResponseWriter, r *http.Request) {
		if received.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		answerSearches(w, r)
	})
	if _, err := openAt(t, s.URL, lexical(t)).Search(t.Context(), vlans); err != nil || received.Load() != 2 {
		t.Errorf("got %v after %d requests, want an answer to the second", err, received.Load())
	}
}

func TestElasticUserAgent(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	var user, password atomic.Value
	s.onSearch(func(w http.ResponseWriter, r *http.Request) {
		name, word, _ := r.BasicAuth()
		user.Store(name)
		password.Store(word)
		answerSearches(w, r)
	})
	ix := openAt(t, strings.Replace(s.URL, "://", "://me:secret@", 1), lexical(t))
	if _, err := ix.Search(t.Context(), vlans); err != nil || user.Load() != "me" || password.Load() != "secret" {
		t.Errorf("got user %v, password %v, error %v", user.Load(), password.Load(), err)
	}
}

// partly answers searches without hits, the first of each request with status.
func partly(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answers := make([]string, lines(r)/2)
		for i := range answers {
			answers[i] = `{"status":200,"hits":{"hits":[]}}`
		}
		answers[0] = fmt.Sprintf(`{"status":%d,"error":{"type":"some_exception","reason":"for a reason"}}`, status)
		fmt.Fprintf(w, `{"responses":[%s]}`, strings.Join(answers, ","))
	}
}

func TestElasticPartialResults(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status      int
		unavailable bool
	}{{429, true}, {503, true}, {400, false}} {
		s := newStub(t)
		s.onSearch(partly(row.status))
		_, err := openAt(t, s.URL, lexical(t)).Search(t.Context(), vlans)
		if err == nil || errors.Is(err, index.ErrUnavailable) != row.unavailable {
			t.Errorf("status %d: got %v, want an error, unavailable %t", row.status, err, row.unavailable)
		}
	}
}

var vlans = index.Query{Kind: "skill", Tenant: "acme", Text: "List all VLANs. Restart the old hosts.", TopK: 5}

// some returns n distinct documents.
func some(n int) []index.Change {
	changes := make([]index.Change, n)
	for i := range changes {
		changes[i] = index.Change{Revision: uint64(i + 1), Document: index.Document{
			Kind: "skill", ID: fmt.Sprintf("doc.%d", i), Title: fmt.Sprintf("Document %d", i),
		}}
	}
	return changes
}

// A kNN search among vectors of another model finds nothing; a hit of the scope
// query reveals the mismatch.
func TestElasticSearchByVectorsOfAnotherModel(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	s.onSearch(func(w http.ResponseWriter, r *http.Request) {
		var answers []string
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.Contains(line, `"knn"`):
				answers = append(answers, `{"status":200,"hits":{"hits":[]}}`)
			case strings.Contains(line, `"query"`):
				answers = append(answers, `{"status":200,"hits":{"hits":[{"_index":"cairn-skill-other","_score":1}]}}`)
			}
		}
		fmt.Fprintf(w, `{"responses":[%s]}`, strings.Join(answers, ","))
	})
	ix := openAt(t, s.URL, lexical(t))
	for method, want := range map[index.Method]error{index.Vector: index.ErrNoVectors, index.Hybrid: nil,
		index.Text: nil} {
		q := vlans
		q.By = method
		if _, err := ix.Search(t.Context(), q); !errors.Is(err, want) {
			t.Errorf("by %s: got %v, want %v", method, err, want)
		}
	}
}
