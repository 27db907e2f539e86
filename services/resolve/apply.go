package resolve

import (
	"slices"
	"unique"

	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
)

// view stores the fields of each record that the resolver needs.
type view = catalog.View[storedRecord]

// storedRecord is the part of a record that the view stores.
type storedRecord struct {
	record []byte               // as in responses
	facts  unique.Handle[facts] // many records have equal ones
}

// apply applies changes of the log to the view and the graph atomically. It
// quarantines unreadable records: they are treated as absent and reported by the
// health.
func (r *Resolver) apply(changes []catalog.Change) error {
	r.fallback.enqueue(changes) // before a search can wait for these changes
	records := slices.ContainsFunc(changes, catalog.Change.IsRecord)
	read := make([]decoded, len(changes))
	stored := make([]storedRecord, len(changes))
	visible := slices.Clone(changes)
	unreadable := map[int]bool{}
	for i, c := range changes {
		if c.Removed || !c.IsRecord() {
			continue
		}
		var err error
		if read[i], err = decode(c); err != nil {
			r.deps.Log.Warn("quarantined unreadable record", "key", c.Key, "revision", c.Revision, "err", err)
			unreadable[i], visible[i].Removed = true, true
			continue
		}
		stored[i] = storedRecord{read[i].record, unique.Make(read[i].facts)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range visible {
		if !c.IsRecord() {
			continue
		}
		n := nodeOf(c.Key)
		r.graph.Apply(n, read[i].edges)
		delete(r.quarantined, n)
		if unreadable[i] {
			r.quarantined[n] = c.Revision
		}
	}
	if records {
		r.packages.reset()
	}
	r.view.Apply(visible, stored)
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

// linked reports whether the record exists and is neither a draft nor retired. The
// caller holds mu.
func (r *Resolver) linked(n graph.Node) bool {
	k, ok := r.view.Get(keyOf(n))
	return ok && schemas.Linkable(k.facts.Value().status)
}

// named returns the record that a request names by id: one that links reach, or else a
// draft or retired one. The caller holds mu.
func (r *Resolver) named(kind string, s scope.Scope, id string) (graph.Node, bool) {
	if n, ok := r.reader.Find(kind, s, id); ok {
		return n, true
	}
	return graph.Reader{Graph: r.graph, Has: r.has}.Find(kind, s, id)
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
