package indextest

import (
	"testing"

	"cairn/services/internal/index"
)

// subject is an index under test; its errors end the test.
type subject struct {
	t testing.TB
	index.Index
}

// shared reports whether several processes apply changes.
func (s subject) shared() bool {
	_, ok := s.Index.(index.Migrator)
	return ok
}

func (s subject) apply(changes ...index.Change) {
	s.t.Helper()
	if err := s.Apply(s.t.Context(), changes); err != nil {
		s.t.Errorf("apply: %v", err)
	}
}

func (s subject) search(q index.Query) index.Result {
	s.t.Helper()
	result, err := s.Search(s.t.Context(), q)
	if err != nil {
		s.t.Errorf("search %q: %v", q.Text, err)
	}
	return result
}

func (s subject) searchSkills(query, tenant string) index.Result {
	s.t.Helper()
	return s.search(index.Query{Kind: "skill", Tenant: tenant, Text: query, TopK: 5})
}

// wantBest checks the best global skill; an empty one expects no hits.
func (s subject) wantBest(query string, want ...string) {
	s.t.Helper()
	got := ids(s.searchSkills(query, ""))
	switch {
	case len(want) == 0 && len(got) > 0:
		s.t.Errorf("%q: got %v, want nothing", query, got)
	case len(want) > 0 && (len(got) == 0 || got[0] != want[0]):
		s.t.Errorf("%q: got %v, want %s first", query, got, want[0])
	}
}

func ids(r index.Result) []string { return hitIDs(r.Hits) }

func hitIDs(hits []index.Hit) (all []string) {
	for _, h := range hits {
		all = append(all, h.ID)
	}
	return all
}

func put(id, title, body string, revision uint64) index.Change {
	return index.Change{
		Document: index.Document{Kind: "skill", ID: id, Title: title, Body: body, Status: "active"},
		Revision: revision,
	}
}

func remove(id string, revision uint64) index.Change {
	return index.Change{
		Document: index.Document{Kind: "skill", ID: id},
		Revision: revision,
		Removed:  true,
	}
}

// catalog is an example catalog of a platform team.
func catalog() []index.Change {
	all := []index.Change{
		put("network.list_vlans", "List VLANs. Shows the virtual networks", "All VLANs of the switches with their ports", 0),
		put("network.trace_route", "Trace route. Follows packets", "Shows the hops between two hosts of the network", 0),
		put("security.check_certificates", "Check certificates. Finds what expires",
			"TLS certificates with their expiry dates", 0),
		put("security.scan_ports", "Scan ports. Finds open doors", "Checks which ports of a host answer", 0),
		put("cost.estimate_compute", "Estimate compute cost. Adds up prices", "Monthly cost of virtual machines by region",
			0),
		put("cost.compare_providers", "Compare providers. Finds the cheapest", "Prices of cloud providers side by side", 0),
		put("storage.restore_backup", "Restore backup. Brings data back",
			"Restores the backup of a database to a point in time", 0),
		put("storage.check_capacity", "Check storage capacity. Warns early", "Free and used space of volumes", 0),
		put("people.list_owners", "List owners. Who is responsible", "The teams that own services and systems", 0),
		put("software.find_outdated", "Find outdated software. Versions behind", "Packages whose support has ended", 0),
	}
	for i := range all {
		all[i].Revision = uint64(i + 1)
	}
	return all
}
