package index

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// generation is a plan whose indices exist on the server.
type generation struct {
	*plan
	name string
	lost atomic.Bool // applied documents are gone from the server
}

// operation returns the bulk operation of a change.
//
// A removal is written as a tombstone: a document without a status, which no
// search matches. Elasticsearch forgets the version of a deleted document after
// index.gc_deletes (60 s) or a restart, and an older revision that arrives later
// would restore the document. Tombstones are small and disappear with the next
// generation.
func (g *generation) operation(c Change, vectors [][]float32) (operation, error) {
	if !slices.Contains(kinds, c.Kind) {
		return operation{}, fmt.Errorf("kind %q: expected %s", c.Kind, strings.Join(kinds, ", "))
	}
	lines, err := encode(
		object{"index": object{
			"_index": g.writeAlias(c.Kind), "_id": documentID(c.Tenant, c.ID),
			"version": c.Revision, "version_type": "external_gte",
		}},
		newStored(c),
	)
	if err == nil && c.searchable() {
		lines, err = withVectors(lines, vectors)
	}
	return operation{c, lines}, err
}
