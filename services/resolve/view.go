package resolve

import (
	"unique"

	"cairn/schemas/member"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
)

// view stores the fields of each record that the resolver needs.
type view = catalog.View[storedRecord]

// storedRecord is the part of a record that the view stores.
type storedRecord struct {
	record []byte               // as in responses
	facts  unique.Handle[facts] // many records have equal ones
}

// summary returns the record as in hits and listings: without instructions, which
// would be most of a page.
func (k storedRecord) summary() ([]byte, error) {
	if !k.facts.Value().instructed {
		return k.record, nil
	}
	return member.Without(k.record, "instructions")
}

func nodeOf(k catalog.Key) graph.Node { return graph.Node{Kind: k.Kind, Tenant: k.Tenant, ID: k.ID} }

func keyOf(n graph.Node) catalog.Key { return catalog.Key{Kind: n.Kind, Tenant: n.Tenant, ID: n.ID} }
