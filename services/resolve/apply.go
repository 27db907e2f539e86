package resolve

import (
	"slices"
	"unique"

	"cairn/bus/telemetry"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
)

// view stores what the resolver needs of each record.
type view = catalog.View[kept]

// kept is the stored part of a record.
type kept struct {
	record []byte               // interned: many records have equal facts
	facts  unique.Handle[facts] // many records have the same
}

// apply applies changes of the log to the view and the graph atomically. It
// quarantines unreadable records: they are treated as absent and reported by the
// health.
func (r *Resolver) apply(changes []catalog.Change) error {
	r.fallback.note(changes) // before any search that waits for these changes
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
		if read[i], err = decodeFacts(c); err != nil {
			r.deps.Log.Warn("quarantined unreadable record", "key", c.Key, "revision", c.Revision, "err", err)
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
		delete(r.quarantined, n)
		if bad[i] {
			r.quarantined[n] = c.Revision
		}
	}
	if records {
		r.packed.forget()
	}
	r.view.Apply(shown, held)
	telemetry.CatalogRevision("resolve", r.view.Applied.Revision())
	telemetry.RecordsQuarantined("resolve", len(r.quarantined))
	return nil
}

func nodeOf(k catalog.Key) graph.Node { return graph.Node{Kind: k.Kind, Tenant: k.Tenant, ID: k.ID} }

func keyOf(n graph.Node) catalog.Key { return catalog.Key{Kind: n.Kind, Tenant: n.Tenant, ID: n.ID} }

// has reports whether the record exists. The caller holds mu.
func (r *Resolver) has(n graph.Node) bool {
	_, ok := r.view.Get(keyOf(n))
	return ok
}

// record returns the record of an existing node. The caller holds mu.
func (r *Resolver) record(n graph.Node) []byte {
	k, _ := r.view.Get(keyOf(n))
	return k.record
}

// factsOf returns the facts of an existing node. The caller holds mu.
func (r *Resolver) factsOf(n graph.Node) facts {
	k, _ := r.view.Get(keyOf(n))
	return k.facts.Value()
}
