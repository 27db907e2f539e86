package resolve

import (
	"slices"
	"unique"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
)

// view stores the fields of each record that the resolver needs. Its groups are the searchable tools of a
// class, and of a class and a provider.
type view = catalog.View[storedRecord]

func newView() *view {
	v := catalog.NewView[storedRecord]()
	v.Groups = func(k storedRecord) []string {
		properties := k.facts.Value()
		all := filter{class: properties.class}.group()
		switch group := (filter{class: properties.class, provider: properties.provider}).group(); {
		case all == "" || !schemas.Searchable(properties.status):
			return nil
		case group == all:
			return []string{all}
		default:
			return []string{all, group}
		}
	}
	return v
}

// storedRecord is the part of a record that the view stores.
type storedRecord struct {
	record []byte               // as in responses
	facts  unique.Handle[facts] // many records have equal ones
	// instructions is where the record has those of a skill, so that a summary does not parse them.
	instructions span
	written      int64 // time of the write, in Unix milliseconds
}

// span is a part of a record, of at most 1 MiB.
type span struct{ start, end uint32 }

// summary returns the record as in hits and listings: without instructions, which
// would be most of a page.
func (k storedRecord) summary() []byte {
	if k.instructions == (span{}) {
		return k.record
	}
	return slices.Concat(k.record[:k.instructions.start], k.record[k.instructions.end:])
}

func (k storedRecord) summarySize() int {
	return len(k.record) - int(k.instructions.end-k.instructions.start)
}

func nodeOf(k catalog.Key) graph.Node { return graph.Node{Kind: k.Kind, Tenant: k.Tenant, ID: k.ID} }

func keyOf(n graph.Node) catalog.Key { return catalog.Key{Kind: n.Kind, Tenant: n.Tenant, ID: n.ID} }
