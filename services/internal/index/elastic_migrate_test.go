package index_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
)

// renamed is a model with the dimensions of model and other vectors.
type renamed struct{ model }

func (r renamed) Space() embed.Space {
	space := r.model.Space()
	space.Name = "other"
	return space
}

var coffee = index.Query{Kind: "skill", Text: "coffee", TopK: 1}

func TestRealMigration(t *testing.T) {
	t.Parallel()
	url := server(t) + "?timeout=60s&prefix=" + newPrefix(t)
	old, other := openAt(t, url, model{new(bool)}), openAt(t, url, renamed{model{new(bool)}})
	wide := openAt(t, url, lexical(t))
	brew := []index.Change{{Revision: 1, Document: index.Document{Kind: "skill", ID: "kitchen.coffee", Title: "Coffee"}}}

	fill(t, old, brew)
	wantStatus(t, old, true, 1)
	wantFound(t, old, "")
	for _, next := range []index.Migrator{other, wide} {
		if err := next.Apply(t.Context(), brew); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, next, false, 1)
		wantFound(t, next, index.TextOnly)
		if got, err := next.Search(t.Context(), index.Query{Kind: "skill", Text: "espresso", TopK: 1}); err != nil ||
			got.Degraded != index.TextOnly {
			t.Errorf("search without common words: got %+v, %v, want degraded %s", got, err, index.TextOnly)
		}
		alone := coffee
		alone.By = index.Vector
		if got, err := next.Search(t.Context(), alone); !errors.Is(err, index.ErrNoVectors) {
			t.Errorf("search by vectors of another model: got %+v, %v, want %v", got, err, index.ErrNoVectors)
		}
	}
	wantFound(t, old, "") // the old generation is still searched

	promote(t, other)
	wantStatus(t, other, true, 1)
	wantFound(t, other, "")
	wantFound(t, old, index.TextOnly)
	if err := old.Apply(t.Context(), brew); err != nil {
		t.Errorf("apply to the previous live generation: %v", err)
	}
	promote(t, wide)
	promote(t, wide)
	wantFound(t, wide, "")
	if err := old.Apply(t.Context(), brew); !errors.Is(err, index.ErrLost) {
		t.Errorf("apply to a deleted generation: got %v, want %v", err, index.ErrLost)
	}
}

func TestRealNewGeneration(t *testing.T) {
	t.Parallel()
	url := server(t) + "?timeout=60s&prefix=" + newPrefix(t)
	ix, other, unaware := openAt(t, url, lexical(t)), openAt(t, url, lexical(t)), openAt(t, url, lexical(t))
	stale := index.Change{Document: index.Document{Kind: "skill", ID: "stale", Title: "Mow lawns"}, Revision: 1}
	brew := index.Change{Document: index.Document{Kind: "skill", ID: "kitchen.coffee", Title: "Coffee"}, Revision: 2}
	fill(t, ix, []index.Change{stale})
	before := generation(t, unaware)
	renewed, err := ix.NewGeneration(t.Context())
	if err != nil || renewed == before {
		t.Fatalf("NewGeneration: %q, %v, want another than %q", renewed, err, before)
	}
	if again, err := other.NewGeneration(t.Context()); err != nil || again != renewed {
		t.Errorf("NewGeneration while one is filled: %q, %v, want %q", again, err, renewed)
	}
	if err := unaware.Apply(t.Context(), []index.Change{brew}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, ix, false, 2) // searchable in the live generation immediately
	fill(t, ix, []index.Change{brew})
	wantStatus(t, ix, true, 1)
	wantFound(t, other, "")
	if got := generation(t, other); got != renewed {
		t.Errorf("generation %q, want %q", got, renewed)
	}
}

// TestRealRestored opens an index whose aliases were not restored from a backup.
func TestRealRestored(t *testing.T) {
	t.Parallel()
	prefix := newPrefix(t)
	url := server(t) + "?timeout=60s&prefix=" + prefix
	ix := openAt(t, url, lexical(t))
	fill(t, ix, some(1))
	requestServer(t, http.MethodDelete, server(t)+"/"+prefix+"-*/_alias/*", "", nil)
	if _, err := ix.Search(t.Context(), coffee); !errors.Is(err, index.ErrUnavailable) {
		t.Errorf("search: got %v, want %v", err, index.ErrUnavailable)
	}
	if err := ix.Apply(t.Context(), some(1)); !errors.Is(err, index.ErrLost) {
		t.Errorf("apply: got %v, want %v", err, index.ErrLost)
	}
	fill(t, ix, some(2))
	wantStatus(t, ix, true, 2)
}

// TestRealNewCatalog opens an index with a new catalog, whose revisions start
// again: they must not be compared with those of the previous catalog.
func TestRealNewCatalog(t *testing.T) {
	t.Parallel()
	url := server(t) + "?timeout=60s&prefix=" + newPrefix(t)
	open := func(log string) index.Migrator {
		ix, err := index.Open(url, lexical(t), log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(ix.Close)
		return ix.(index.Migrator)
	}
	change := index.Change{Document: index.Document{Kind: "skill", ID: "s", Title: "brew coffee"}, Revision: 9}
	fill(t, open("first"), []index.Change{change})
	change.Title, change.Revision = "mow lawns", 1
	second := open("second")
	fill(t, second, []index.Change{change})
	if got := search(t, second, "mow lawns", 1); len(got) != 1 {
		t.Error("a record of the second catalog is not found")
	}
	wantStatus(t, second, true, 1)
}

func TestRealConcurrentGeneration(t *testing.T) {
	t.Parallel()
	prefix := newPrefix(t)
	url := server(t) + "?prefix=" + prefix
	var group sync.WaitGroup
	got := make([]string, 6)
	for i := range got {
		ix := openAt(t, url, lexical(t))
		group.Go(func() { got[i] = generation(t, ix) })
	}
	group.Wait()
	for _, g := range got {
		if g == "" || g != got[0] {
			t.Errorf("generations %q, want one", got)
		}
	}
	ix := openAt(t, url, lexical(t))
	fill(t, ix, some(1))
	suffix := got[0][:strings.LastIndex(got[0], "-")]
	requestServer(t, http.MethodDelete, server(t)+"/"+prefix+"-skill-"+suffix, "", nil)
	if err := ix.Apply(t.Context(), some(1)); !errors.Is(err, index.ErrLost) {
		t.Errorf("apply to deleted indices: got %v, want %v", err, index.ErrLost)
	}
	if again := generation(t, ix); again == got[0] {
		t.Errorf("got generation %q again after an index was deleted", again)
	}
	fill(t, ix, some(1))
}

func generation(t testing.TB, ix index.Migrator) string {
	t.Helper()
	name, err := ix.Generation(t.Context())
	if err != nil {
		t.Errorf("generation: %v", err)
	}
	return name
}

// fill applies a log as a worker does.
func fill(t testing.TB, ix index.Migrator, changes []index.Change) {
	t.Helper()
	generation(t, ix)
	if err := ix.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	promote(t, ix)
}

func promote(t testing.TB, ix index.Migrator) {
	t.Helper()
	if err := ix.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantStatus(t *testing.T, ix index.Migrator, live bool, skills int) {
	t.Helper()
	got, err := ix.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"agent": 0, "skill": skills, "tool": 0, "guardrail": 0, "template": 0}
	if diff := cmp.Diff(want, got.Documents); diff != "" || (got.Live == got.Fingerprint) != live || got.Live == "" {
		t.Errorf("status %+v, want live %t and documents (-want +got):\n%s", got, live, diff)
	}
}

func wantFound(t *testing.T, ix index.Index, degraded string) {
	t.Helper()
	got, err := ix.Search(t.Context(), coffee)
	if err != nil || len(got.Hits) != 1 || got.Degraded != degraded {
		t.Errorf("search: got %+v, %v, want a hit, degraded %q", got, err, degraded)
	}
}
