package edge_test

import (
	"context"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
)

// TestUnregisterNamesReferrers deletes records and reads the headers of the response, which names aliases too.
func TestUnregisterNamesReferrers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 256)
	for _, row := range []struct {
		name        string
		first       []schemas.Referrer
		count, want string
	}{
		{"no referrers", nil, "", ""},
		{"two referrers", []schemas.Referrer{{Kind: "skill", ID: "a.b/ä,c"}, {Kind: "agent", ID: "x", TenantID: "t&u"}}, "30",
			"skill/a.b%2F%C3%A4%2Cc, agent/x?tenant_id=t%26u"},
		{"those that fit the header", []schemas.Referrer{{Kind: "skill", ID: long}, {Kind: "tool", ID: long},
			{Kind: "agent", ID: long}}, "30",
			"skill/" + strings.Repeat("%C3%A9", 256) + ", tool/" + strings.Repeat("%C3%A9", 256)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			must(t, bus.Unregister.Serve(f.service, func(context.Context, schemas.Unregister) (schemas.Unregistered, error) {
				if row.first == nil {
					return schemas.Unregistered{}, nil
				}
				return schemas.Unregistered{Aliases: []string{"a", "b"},
					Referrers: &schemas.ReferrerSummary{Count: 30, First: row.first}}, nil
			}))
			a := f.request(t, "DELETE", "/register/tool/p.s.t", nil)
			if a.status != 204 || a.body != "" || a.header.Get(bus.HeaderReferrerCount) != row.count ||
				a.header.Get(bus.HeaderReferrers) != row.want || (a.header.Get(bus.HeaderAliases) == "a,b") != (row.first != nil) {
				t.Errorf("got %d %v %s", a.status, a.header, a.body)
			}
		})
	}
}
