package index_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/services/internal/index"
	"cairn/test/wait"
)

func TestElasticCircuitBreaker(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	s.onSearch(faults["503"])
	ix := openAt(t, s.URL, lexical(t))
	for range 5 {
		if _, err := ix.Search(t.Context(), vlans); !errors.Is(err, index.ErrUnavailable) {
			t.Fatalf("search: got %v, want %v", err, index.ErrUnavailable)
		}
	}
	before := s.received.Load()
	for range 20 { // within the open timeout, on a busy machine too
		if _, err := ix.Search(t.Context(), vlans); !errors.Is(err, index.ErrUnavailable) {
			t.Fatalf("search: got %v, want %v", err, index.ErrUnavailable)
		}
	}
	if after := s.received.Load(); after != before {
		t.Errorf("%d of 20 searches reached the server", after-before)
	}
	err := ix.Check(t.Context())
	for _, want := range []string{"circuit breaker is open", "status 503"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check: got %v, want an error that contains %q", err, want)
		}
	}
	s.onSearch(func(w http.ResponseWriter, r *http.Request) { answerSearches(w, r) })
	wait.Success(t, func() error { return ix.Check(t.Context()) })
	if _, err := ix.Search(t.Context(), vlans); err != nil {
		t.Errorf("search after the server has recovered: %v", err)
	}
}

func TestElasticIgnoresCanceledRequests(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	s.onSearch(faults["slow"])
	ix := openAt(t, s.URL, lexical(t))
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		_, err := ix.Search(ctx, vlans)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, index.ErrUnavailable) {
			t.Fatalf("search: got %v, want %v alone", err, context.DeadlineExceeded)
		}
	}
	if err := ix.Check(t.Context()); err != nil {
		t.Errorf("check after callers canceled: %v", err)
	}
}

func TestElasticReportsLostDocuments(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	ix := openAt(t, s.URL, lexical(t))
	before, err := ix.Generation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Apply(t.Context(), some(1)); err != nil {
		t.Fatal(err)
	}
	s.lose()
	if err := ix.Promote(t.Context()); !errors.Is(err, index.ErrLost) {
		t.Errorf("promote a lost generation: got %v, want %v", err, index.ErrLost)
	}
	if err := ix.Apply(t.Context(), some(1)); !errors.Is(err, index.ErrLost) {
		t.Errorf("apply: got %v, want %v until Generation is called", err, index.ErrLost)
	}
	after, err := ix.Generation(t.Context())
	if err != nil || after == before {
		t.Errorf("generation: got %q, %v, want another than %q", after, err, before)
	}
	if err := ix.Apply(t.Context(), some(1)); err != nil {
		t.Errorf("apply to the new generation: %v", err)
	}
}
