package resolve

import (
	"fmt"
	"log/slog"
	"testing"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
)

// TestDraftsAreNotVisited resolves the context builders of a domain. Drafts and retired skills that
// link to all of them cause no reads of records.
func TestDraftsAreNotVisited(t *testing.T) {
	t.Parallel()
	r := newResolver(Deps{Log: slog.New(slog.DiscardHandler)})
	reads := 0
	r.reader = graph.Reader{Graph: r.graph, Has: func(n graph.Node) bool { reads++; return r.linked(n) }}
	revision := uint64(0)
	put := func(kind, id, record string) {
		t.Helper()
		revision++
		c := catalog.Change{Key: catalog.Key{Kind: kind, Tenant: "acme", ID: id}, Revision: revision, Record: []byte(record)}
		if err := r.apply([]catalog.Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	resolve := func() (found, read int) {
		before := reads
		found = len(r.reader.ContextBuilders(t.Context(), "acme", graph.Node{Kind: schemas.KindSkill, Tenant: "acme", ID: "d.target"}, "d"))
		return found, reads - before
	}
	const builders = 10
	list := ""
	for i := range builders {
		put(schemas.KindContextBuilder, fmt.Sprintf("b%d", i), `{"domain":"d"}`)
		list += fmt.Sprintf(`,"b%d"`, i)
	}
	_, want := resolve()
	for i, status := range []string{schemas.StatusDraft, schemas.StatusRetired} {
		for n := range 20 {
			put(schemas.KindSkill, fmt.Sprintf("e.s%d-%d", i, n), fmt.Sprintf(`{"status":%q,"context_builder_ids":[%s]}`, status, list[1:]))
		}
	}
	if found, read := resolve(); found != builders || read != want {
		t.Errorf("found %d builders with %d reads, want %d with %d as without drafts", found, read, builders, want)
	}
	put(schemas.KindSkill, "e.s0-0", fmt.Sprintf(`{"context_builder_ids":[%s]}`, list[1:]))
	if found, _ := resolve(); found != 0 {
		t.Errorf("found %d builders of the domain to which an active skill links", found)
	}
}
