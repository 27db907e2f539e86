package resolve_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/schemas"
)

// pages lists skills, calls between after each page, and returns the ids of each
// page.
func (w *world) pages(tenant string, limit int, between func(page int)) [][]string {
	w.t.Helper()
	q := schemas.ListQuery{TenantID: asTenant(tenant).TenantID, Limit: &limit}
	var pages [][]string
	for {
		list, err := bus.ListSkills.Call(w.ctx(), w.conn, q)
		if err != nil {
			w.t.Fatal(err)
		}
		pages = append(pages, ids(w.t, skill, list.Skills))
		if list.NextCursor == nil {
			return pages
		}
		q.Cursor = *list.NextCursor
		between(len(pages))
	}
}

func nothing(int) {}

func TestListing(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, id := range []string{"d.1", "c.1", "b.1", "a.1"} {
		w.put(skill, "", id, `{"skill_id":"`+id+`"}`)
	}
	w.put(skill, "", "c.old", `{"skill_id":"c.old","status":"retired"}`)
	w.put(skill, "acme", "z.1", `{"skill_id":"z.1"}`)
	rows := []struct {
		name, tenant string
		limit        int
		want         [][]string
	}{
		{"ordered by id, active ones only", "", 10, [][]string{{"a.1", "b.1", "c.1", "d.1"}}},
		{"in pages, the last of them shorter", "", 3, [][]string{{"a.1", "b.1", "c.1"}, {"d.1"}}},
		{"a last page that is full has no cursor", "", 2, [][]string{{"a.1", "b.1"}, {"c.1", "d.1"}}},
		{"the tenant's collection", "acme", 10, [][]string{{"z.1"}}},
		{"the global collection when the tenant has no records", "other", 3, [][]string{{"a.1", "b.1", "c.1"}, {"d.1"}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, w.pages(row.tenant, row.limit, nothing)); diff != "" {
				t.Errorf("pages differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReferrers lists the records that link to an id, of all kinds and statuses, in pages.
func TestReferrers(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.put(skill, "", "a.1", `{"skill_id":"a.1","tool_ids":["x.y.z"]}`)
	w.put(skill, "", "a.2", `{"skill_id":"a.2","tool_ids":["o.y.z","x.y.z"],"status":"draft"}`)
	w.put(skill, "", "a.3", `{"skill_id":"a.3","context_builder_ids":["x.y.z"]}`)
	w.put(skill, "acme", "a.1", `{"skill_id":"a.1"}`)                  // replaces the global one
	w.put(skill, "acme", "a.3", `{"skill_id":"a.3","status":"draft"}`) // does not replace it
	w.put(skill, "acme", "b.1", `{"skill_id":"b.1","tool_ids":["x.y.z"]}`)
	w.put(skill, "other", "c.1", `{"skill_id":"c.1","tool_ids":["x.y.z"]}`)
	w.put(schemas.KindContextBuilder, "", "cb.1", `{"context_builder_id":"cb.1","tool_ids":["x.y.z"],"skill_ids":["a.1"]}`)
	w.put(schemas.KindGuardrail, "", "g", `{"guardrail_id":"g","skill_ids":["a.1"]}`)
	w.put(schemas.KindGuardrail, "acme", "g", `{"guardrail_id":"g"}`)
	list := func(kind, id, tenant string, limit int, dangling bool) (all []string) {
		q := schemas.ReferrerQuery{Kind: kind, ID: id, TenantID: asTenant(tenant).TenantID, Limit: &limit, Dangling: dangling}
		for {
			page, err := bus.Referrers.Call(w.ctx(), w.conn, q)
			if err != nil || len(page.Referrers) > limit {
				t.Fatalf("%+v, %v", page, err)
			}
			for _, r := range page.Referrers {
				all = append(all, strings.Join([]string{r.Kind, r.TenantID, r.ID, r.Field, r.Status}, " "))
			}
			if page.NextCursor == nil {
				return all
			}
			q.Cursor = *page.NextCursor
		}
	}
	for _, limit := range []int{1, 2, 100} {
		for _, row := range []struct {
			kind, id, tenant string
			want             []string
		}{
			{schemas.KindTool, "x.y.z", "", []string{"skill  a.1 tool_ids active", "skill  a.2 tool_ids draft",
				"context_builder  cb.1 tool_ids active"}},
			{schemas.KindTool, "x.y.z", "acme", []string{"skill acme b.1 tool_ids active", "skill  a.2 tool_ids draft",
				"context_builder  cb.1 tool_ids active"}},
			{schemas.KindSkill, "a.1", "acme",
				[]string{"context_builder  cb.1 skill_ids active", "guardrail  g skill_ids active"}},
			{schemas.KindContextBuilder, "x.y.z", "", []string{"skill  a.3 context_builder_ids active"}},
			{schemas.KindContextBuilder, "x.y.z", "acme", []string{"skill  a.3 context_builder_ids active"}},
			{schemas.KindAgent, "x.y.z", "", nil},
			{schemas.KindTool, "no.y.z", "acme", nil},
		} {
			if diff := cmp.Diff(row.want, list(row.kind, row.id, row.tenant, limit, false)); diff != "" {
				t.Errorf("%s %s of %q in pages of %d (-want +got):\n%s", row.kind, row.id, row.tenant, limit, diff)
			}
			if row.tenant == "" {
				continue
			}
			if row.kind == skill { // the global one replaces that of the tenant
				row.want = nil
			}
			if diff := cmp.Diff(row.want, list(row.kind, row.id, row.tenant, limit, true)); diff != "" {
				t.Errorf("dangling links to %s %s of %q in pages of %d (-want +got):\n%s", row.kind, row.id, row.tenant, limit,
					diff)
			}
		}
	}
	encode := base64.RawURLEncoding.EncodeToString
	for _, cursor := range []string{"x", encode([]byte("gtool/a")), encode([]byte("ga"))} {
		_, err := bus.Referrers.Call(w.ctx(), w.conn,
			schemas.ReferrerQuery{Kind: schemas.KindTool, ID: "x.y.z", Cursor: cursor})
		if !errors.Is(err, schemas.ErrMalformed) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func TestCursorIsStableUnderWrites(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, id := range []string{"b.1", "d.1", "f.1", "h.1"} {
		w.put(skill, "", id, `{"skill_id":"`+id+`"}`)
	}
	got := w.pages("acme", 2, func(int) {
		w.put(skill, "", "a.1", `{"skill_id":"a.1"}`)     // before the cursor: not included
		w.put(skill, "", "e.1", `{"skill_id":"e.1"}`)     // after the cursor: included
		w.removeSkill("d.1")                              // the id of the cursor
		w.put(skill, "acme", "g.1", `{"skill_id":"g.1"}`) // the tenant now has a record
	})
	want := [][]string{{"b.1", "d.1"}, {"e.1", "f.1"}, {"h.1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages differ (-want +got):\n%s", diff)
	}
}

func TestPageBytes(t *testing.T) {
	t.Parallel()
	w := serving(t)
	var want [][]string
	for _, size := range []int{300, 200, 100, 900, 600, 10} { // in KiB
		id := fmt.Sprintf("a.%d", len(want))
		w.put(skill, "", id, fmt.Sprintf(`{"skill_id":%q,"pad":%q}`, id, strings.Repeat("x", size<<10)))
		want = append(want, []string{id})
	}
	want = [][]string{{"a.0", "a.1"}, {"a.2"}, {"a.3"}, {"a.4"}, {"a.5"}}
	if diff := cmp.Diff(want, w.pages("", 100, nothing)); diff != "" {
		t.Errorf("pages differ (-want +got):\n%s", diff)
	}
}

func TestListingFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.records(
		record{skill, "", `{"skill_id":"net.audit"}`}, record{skill, "", `{"skill_id":"billing.check","domain":"billing"}`},
		record{tool, "", `{"tool_id":"p.s.one","tool_class":"net","provider":"p","domain":"d"}`},
		record{tool, "", `{"tool_id":"p.s.two","tool_class":"log","provider":"p"}`},
		record{tool, "", `{"tool_id":"q.s.one","tool_class":"net","provider":"q"}`},
		record{tool, "acme", `{"tool_id":"r.s.one","tool_class":"net","provider":"r"}`},
	)
	w.serve()
	rows := []struct {
		name  string
		query schemas.ListQuery
		want  []string // of skills, then of tools
	}{
		{"by domain, which is the id's first segment by default", schemas.ListQuery{Domain: "net"}, []string{"net.audit"}},
		{"by domain of tools", schemas.ListQuery{Domain: "d"}, []string{"p.s.one"}},
		{"by provider, which skills do not have", schemas.ListQuery{Provider: "q"}, []string{"q.s.one"}},
		{"by class and provider", schemas.ListQuery{ToolClass: "net", Provider: "p"}, []string{"p.s.one"}},
		{"global records when no record of the tenant matches",
			schemas.ListQuery{ToolClass: "log", TenantID: asTenant("acme").TenantID}, []string{"p.s.two"}},
		{"no record matches", schemas.ListQuery{Domain: "none"}, []string{}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			skills, err := bus.ListSkills.Call(w.ctx(), w.conn, row.query)
			if err != nil {
				t.Fatal(err)
			}
			tools, err := bus.ListTools.Call(w.ctx(), w.conn, row.query)
			if err != nil {
				t.Fatal(err)
			}
			got := append(ids(t, skill, skills.Skills), ids(t, tool, tools.Tools)...)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("listing differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadCursor(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for name, cursor := range map[string]string{
		"not base64":       "!!",
		"no id":            base64.RawURLEncoding.EncodeToString([]byte("g")),
		"no collection":    base64.RawURLEncoding.EncodeToString([]byte("xa.1")),
		"not valid UTF-8":  base64.RawURLEncoding.EncodeToString([]byte("g\xff")),
		"padded by others": base64.URLEncoding.EncodeToString([]byte("ga.12")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := bus.ListSkills.Call(t.Context(), w.conn, schemas.ListQuery{Cursor: cursor})
			var e *schemas.Error
			if !errors.Is(err, schemas.ErrMalformed) || !errors.As(err, &e) || len(e.Fields) != 1 ||
				e.Fields[0].Field != "cursor" {
				t.Errorf("got %v, want %v naming cursor", err, schemas.ErrMalformed)
			}
		})
	}
}

// TestListingOfManyRecords lists records that are farther apart than the lock is held.
func TestListingOfManyRecords(t *testing.T) {
	t.Parallel()
	w := serving(t)
	var want []string
	for i := range 1200 {
		id := fmt.Sprintf("d.%04d", i)
		domain := "d"
		if i%1100 == 0 {
			domain, want = "rare", append(want, id)
		}
		w.put(skill, "", id, fmt.Sprintf(`{"skill_id":%q,"domain":%q}`, id, domain))
	}
	list, err := bus.ListSkills.Call(w.ctx(), w.conn, schemas.ListQuery{Domain: "rare"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, ids(t, skill, list.Skills)); diff != "" || list.NextCursor != nil {
		t.Errorf("cursor %v, records (-want +got):\n%s", list.NextCursor, diff)
	}
	limit := 1
	query := schemas.RecordQuery{Kind: skill, Prefix: "d.11", Limit: &limit}
	records, err := bus.ListRecords.Call(w.ctx(), w.conn, query)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(t, skill, records.Records); len(got) != 1 || got[0] != "d.1100" || records.NextCursor == nil {
		t.Errorf("the first of the prefix: %v, cursor %v", got, records.NextCursor)
	}
	history, err := bus.RecordHistory.Call(w.ctx(), w.conn, schemas.RecordKey{Kind: skill, ID: "d.1100"})
	if err != nil {
		t.Fatal(err)
	}
	written, err := time.Parse(time.RFC3339, history.Revisions[0].StoredAt)
	want = []string{written.Truncate(time.Millisecond).Format(time.RFC3339Nano)}
	if diff := cmp.Diff(want, records.StoredAt); diff != "" || err != nil {
		t.Errorf("%v, times of the writes (-want +got):\n%s", err, diff)
	}
}
