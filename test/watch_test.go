package test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
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

		if first := want(all, "registered", "$.s.a"); first.Version != "1.0.0" || first.Kind != "tool" ||
			first.TenantID != "" {
			t.Errorf("got %+v", first)
		}
		second := want(all, "registered", "$.b")
		want(all, "replaced", "$.s.a")
		want(all, "deleted", "$.s.a")
		want(tools, "registered", "$.s.a")
		want(tools, "replaced", "$.s.a")
		want(tools, "deleted", "$.s.a")
		want(gold, "registered", "$.b")
		want(gold, "unmatched", "$.s.a") // the replacement lacks the label
		want(gold, "deleted", "$.s.a")
		c.do(t, "PUT /records/skill/$.b", `{"labels":{"tier":"silver"}}`)
		if lost := want(gold, "unmatched", "$.b"); lost.Labels != nil || lost.Kind != "skill" {
			t.Errorf("got %+v", lost)
		}
		want(all, "replaced", "$.b")
		if own := want(tenant, "registered", "$.s.a"); own.TenantID != c.word || own.Labels["tier"] != "gold" {
			t.Errorf("got %+v", own)
		}
		for _, kind := range []string{"registered", "registered", "replaced", "registered", "deleted"} {
			if got, change := both.change(t); got != kind {
				t.Errorf("of both scopes: got %s %+v, want %s", got, change, kind)
			}
		}

		resumed, revision := c.watch(t, "prefix=$.", "Last-Event-ID: "+second.Revision)
		if revision != second.Revision {
			t.Errorf("resumed at %s, want %s", revision, second.Revision)
		}
		want(resumed, "deleted", "$.s.a") // of earlier changes, only the newest of each record
		again, _ := c.watch(t, "prefix=$.&after="+from)
		want(again, "deleted", "$.s.a")
		want(again, "replaced", "$.b")
		goldAgain, _ := c.watch(t, "prefix=$.&labels=tier%3Dgold&after="+from)
		want(goldAgain, "deleted", "$.s.a")
		want(goldAgain, "unmatched", "$.b") // it had the label after from

		for _, row := range []struct{ name, query, header, problem string }{
			{"an unknown kind", "kind=playbook", "", "CE-001 kind"},
			{"an unknown scope", "scope=all", "", "CE-001 scope"},
			{"a label without a value", "labels=team", "", "CE-001 labels"},
			{"an invalid revision", "after=x", "", "CE-001 after"},
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

// TestListThenWatch registers records while they are listed, and watches from the revision of
// the first page: every record is in a page or an event.
func TestListThenWatch(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const count = 40
		written := make(chan error, 1)
		go func() {
			for i := range count {
				if _, err := c.try(t.Context(), fmt.Sprintf("PUT /records/tool/$.s.t%d", i), `{}`); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		seen := map[string]bool{}
		from, cursor := "", ""
		for {
			a := c.call(t, "GET /records/tool?prefix=$.&limit=2"+cursor, "")
			var page struct {
				Records []schemas.Tool
				Next    *string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.header.Get("Cairn-Revision") == "" {
				t.Fatalf("%s: %v, revision %q", a.body, err, a.header.Get("Cairn-Revision"))
			}
			from = cmp.Or(from, a.header.Get("Cairn-Revision"))
			for _, r := range page.Records {
				seen[r.ToolID] = true
			}
			if page.Next == nil {
				break
			}
			cursor = "&cursor=" + *page.Next
		}
		s, _ := c.watch(t, "prefix=$.&kind=tool&after="+from)
		for len(seen) < count {
			_, change := s.change(t)
			seen[change.ID] = true
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

// TestWatchOverNATS watches by the subject.
func TestWatchOverNATS(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conn := bustest.DialURL(t, c.nats)
		var got []string
		for e, err := range bus.Watch.Forward(ctx, conn, []byte(c.named(`{"prefix":"$.","kind":"tool","labels":"of=$"}`))) {
			must(t, err)
			var change schemas.RecordChange
			if err := json.Unmarshal(e.Data, &change); err != nil || change.Revision == "" {
				t.Fatalf("%s %s: %v", e.Type, e.Data, err)
			}
			got = append(got, e.Type+" "+strings.TrimPrefix(change.ID, c.word))
			switch e.Type {
			case schemas.EventWatching:
				c.do(t, "PUT /records/skill/$.s", `{"labels":{"of":"$"}}`)
				c.do(t, "PUT /records/tool/$.s.a", `{"labels":{"of":"$"}}`)
			case schemas.EventRegistered:
				c.do(t, "PUT /records/tool/$.s.a", `{}`)
			case schemas.EventUnmatched:
				c.do(t, "DELETE /records/tool/$.s.a", "")
			}
			if e.Type == schemas.EventDeleted {
				break
			}
		}
		if want := "[watching  registered .s.a unmatched .s.a deleted .s.a]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
}

// TestWatchOfAnotherTenant checks that a watch of one tenant has no change of another one, also
// from the revision of a listing of the empty catalog.
func TestWatchOfAnotherTenant(t *testing.T) {
	isolated(t, *authenticated, func(t *testing.T, c *client) {
		owner, other := c.withRole(t, schemas.RoleRegistrar, "$"), c.withRole(t, schemas.RoleRegistrar, "$2")
		empty := other.call(t, "GET /records/tool", "").header.Get(bus.HeaderRevision)
		if !strings.HasSuffix(empty, "-0") {
			t.Fatalf("a listing of the empty catalog has revision %q", empty)
		}
		watches := []*stream{}
		for _, query := range []string{"", "scope=tenant", "kind=tool&labels=of%3D$", "after=" + empty} {
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
