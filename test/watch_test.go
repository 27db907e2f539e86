package test

import (
	"encoding/json"
	"testing"

	"cairn/schemas"
)

// change reads the next event of a watch.
func (s *stream) change(t testing.TB) (kind string, c schemas.RecordChange) {
	t.Helper()
	e, ok := s.next()
	if !ok {
		t.Fatal("the watch has ended")
	}
	if err := json.Unmarshal([]byte(e.data), &c); err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	return e.kind, c
}

// watch starts a watch and returns it after its first event, with the revision of that.
func (c *client) watch(t testing.TB, query string, headers ...string) (*stream, string) {
	t.Helper()
	s := c.stream(t, "GET /watch?"+query, "", headers...)
	kind, first := s.change(t)
	if s.res.StatusCode != 200 || kind != schemas.EventWatching || first.Revision == "" {
		t.Fatalf("GET /watch?%s: %d, first %s %+v", query, s.res.StatusCode, kind, first)
	}
	return s, first.Revision
}

func TestWatch(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		want := func(s *stream, kind, id string) schemas.RecordChange {
			t.Helper()
			got, change := s.change(t)
			if got != kind || change.ID != c.named(id) || change.StoredAt == "" {
				t.Fatalf("got %s %+v, want %s of %s", got, change, kind, id)
			}
			return change
		}
		all, from := c.watch(t, "prefix=$.")
		tools, _ := c.watch(t, "prefix=$.&kind=tool")
		gold, _ := c.watch(t, "prefix=$.&labels=tier%3Dgold")
		tenant, _ := c.watch(t, "prefix=$.&tenant_id=$&scope=tenant")
		both, _ := c.watch(t, "prefix=$.&tenant_id=$")

		c.do(t, "PUT /records/tool/$.s.a", `{"version":"1.0.0"}`)
		c.do(t, "PUT /records/skill/$.b", `{"labels":{"tier":"gold"}}`)
		if a := c.call(t, "PUT /records/tool/$.s.a", `{"version":"1.1.0"}`, "If-Match: *"); a.status != 200 {
			t.Fatalf("replace: %d %s", a.status, a.body)
		}
		c.do(t, "PUT /records/tool/$.s.a?tenant_id=$", `{"labels":{"tier":"gold"}}`)
		c.do(t, "DELETE /records/tool/$.s.a", "")

		if first := want(all, "registered", "$.s.a"); first.Version != "1.0.0" || first.Kind != "tool" || first.TenantID != "" {
			t.Errorf("got %+v", first)
		}
		second := want(all, "registered", "$.b")
		want(all, "replaced", "$.s.a")
		want(all, "deleted", "$.s.a")
		want(tools, "registered", "$.s.a")
		want(tools, "replaced", "$.s.a")
		want(tools, "deleted", "$.s.a")
		want(gold, "registered", "$.b")
		want(gold, "deleted", "$.s.a")
		if own := want(tenant, "registered", "$.s.a"); own.TenantID != c.word || own.Labels["tier"] != "gold" {
			t.Errorf("got %+v", own)
		}
		for _, kind := range []string{"registered", "registered", "replaced", "registered", "deleted"} {
			if got, change := both.change(t); got != kind {
				t.Errorf("of both scopes: got %s %+v, want %s", got, change, kind)
			}
		}

		resumed, at := c.watch(t, "prefix=$.", "Last-Event-ID: "+second.Revision)
		if at != second.Revision {
			t.Errorf("resumed at %s, want %s", at, second.Revision)
		}
		want(resumed, "deleted", "$.s.a") // of earlier changes, only the newest of each record
		again, _ := c.watch(t, "prefix=$.&after="+from)
		want(again, "registered", "$.b")
		want(again, "deleted", "$.s.a")

		for _, row := range []struct{ name, query, header, problem string }{
			{"an unknown kind", "kind=playbook", "", "CE-001 kind"},
			{"an unknown scope", "scope=all", "", "CE-001 scope"},
			{"a label without a value", "labels=team", "", "CE-001 labels"},
			{"a revision that is none", "after=x", "", "CE-001 after"},
			{"a revision of another catalog", "after=other-1", "", "CE-001 after"},
			{"a later revision", "after=99999999", "", "CE-001 after"},
			{"an id that is no revision", "", "x", "CE-001 Last-Event-Id"},
			{"an unknown parameter", "limit=1", "", "CE-001 limit"},
		} {
			a := c.call(t, "GET /watch?"+row.query, "", "Last-Event-ID: "+row.header)
			t.Run(row.name, func(t *testing.T) { a.expect(t, 400, row.problem, "") })
		}
	})
}

// TestWatchOfAnotherTenant checks that a watch of one tenant has no change of another one.
func TestWatchOfAnotherTenant(t *testing.T) {
	isolated(t, *authenticated, func(t *testing.T, c *client) {
		owner, other := c.withRole(t, schemas.RoleRegistrar, "$"), c.withRole(t, schemas.RoleRegistrar, "$2")
		watches := []*stream{}
		for _, query := range []string{"", "scope=tenant", "kind=tool&labels=of%3D$", "after=0"} {
			s, _ := other.watch(t, query)
			watches = append(watches, s)
		}
		owner.do(t, "PUT /records/tool/$.s.secret", `{"labels":{"of":"$"}}`)
		owner.do(t, "DELETE /records/tool/$.s.secret", "")
		other.do(t, "PUT /records/tool/$.s.own", `{"labels":{"of":"$"}}`)
		for i, s := range watches {
			for {
				_, change := s.change(t)
				if change.TenantID == c.named("$2") && change.ID == c.named("$.s.own") {
					break
				}
				if change.TenantID != "" {
					t.Errorf("watch %d has a change of another tenant: %+v", i, change)
				}
			}
		}
	})
}
