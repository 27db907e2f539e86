package resolve

import (
	"slices"
	"unique"

	"cairn/bus/telemetry"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
)

// view is the records as the resolver holds them.
type view = catalog.View[kept]

// kept is what is held of a record.
type kept struct {
	record []byte               // as it is answered
	facts  unique.Handle[facts] // many records have the same
}

// apply takes changes of the log into records and graph, as one step to those
// who read. A record that cannot be read is set aside: to resolving it is not
// there, the log goes on behind it, and the health names it.
func (r *Resolver) apply(changes []catalog.Change) error {
	r.spare.note(changes) // before any search that waits for them
	records := slices.ContainsFunc(changes, catalog.Change.IsRecord)
	read := make([]taken, len(changes))
	held := make([]kept, len(changes))
	shown := slices.Clone(changes)
	bad := map[int]bool{}
	for i, c := range changes {
		if c.Removed || !c.IsRecord() {
			continue
		}
		var err error
		if read[i], err = take(c); err != nil {
			r.deps.Log.Warn("a record cannot be read and is set aside", "key", c.Key, "revision", c.Revision, "err", err)
			bad[i], shown[i].Removed = true, true
			continue
		}
		held[i] = kept{read[i].record, unique.Make(read[i].facts)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range shown {
		if !c.IsRecord() {
			continue
		}
		n := nodeOf(c.Key)
		r.graph.Apply(n, read[i].edges)
		delete(r.aside, n)
		if bad[i] {
			r.aside[n] = c.Revision
		}
	}
	if records {
		r.packed.forget()
	}
	r.view.Apply(shown, held)
	telemetry.CatalogRevision("resolve", r.view.Revision())
	telemetry.RecordsAside("resolve", len(r.aside))
	return nil
}

func nodeOf(k catalog.Key) graph.Node { return graph.Node{Kind: k.Kind, Tenant: k.Tenant, ID: k.ID} }

func keyOf(n graph.Node) catalog.Key { return catalog.Key{Kind: n.Kind, Tenant: n.Tenant, ID: n.ID} }

// has reports whether there is a record. The caller holds mu.
func (r *Resolver) has(n graph.Node) bool {
	_, ok := r.view.Get(keyOf(n))
	return ok
}

// record is the node's record, which is there. The caller holds mu.
func (r *Resolver) record(n graph.Node) []byte {
	k, _ := r.view.Get(keyOf(n))
	return k.record
}

// factsOf are those of the node's record, which is there. The caller holds mu.
func (r *Resolver) factsOf(n graph.Node) facts {
	k, _ := r.view.Get(keyOf(n))
	return k.facts.Value()
}
