package register_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/schemas"
)

// TestDeletionOfReferencedRecords deletes a record with and without referrers, in both forms of the request.
func TestDeletionOfReferencedRecords(t *testing.T) {
	t.Parallel()
	conn, _ := serveSearchable(t)
	put := func(kind, tenant, id, fields string) {
		t.Helper()
		record := schemas.PutRecord{Kind: kind, ID: id, TenantID: schemas.Optional(tenant), Record: []byte(fields)}
		if _, err := bus.PutRecord.Call(t.Context(), conn, record); err != nil {
			t.Fatal(err)
		}
	}
	const skill, tool, guard = schemas.KindSkill, schemas.KindTool, schemas.KindGuardrail
	link := func(tenant, id string) schemas.Referrer {
		return schemas.Referrer{Kind: skill, ID: id, TenantID: tenant, Field: "tool_ids", Status: schemas.StatusActive}
	}
	for i, row := range []struct {
		name    string
		records [][3]string // kind, tenant, fields: of $.a for a skill or guardrail and of $.s.t for a tool
		tenant  string      // of the deleted tool $.s.t
		want    []schemas.Referrer
	}{
		{"a record without referrers", [][3]string{{tool, "", `{}`}}, "", nil},
		{"an absent record with referrers", [][3]string{{skill, "", `{"tool_ids":["$.s.t"]}`}}, "", nil},
		{"a record to which a skill links", [][3]string{{tool, "", `{}`}, {skill, "", `{"tool_ids":["$.s.t"]}`}}, "",
			[]schemas.Referrer{link("", "$.a")}},
		{"a global record to which records of tenants link", [][3]string{{tool, "", `{}`},
			{skill, "acme", `{"tool_ids":["$.s.t"]}`}, {skill, "other", `{"tool_ids":["$.s.t"],"status":"retired"}`}}, "",
			[]schemas.Referrer{link("acme", "$.a"),
				{Kind: skill, ID: "$.a", TenantID: "other", Field: "tool_ids", Status: "retired"}}},
		{"a global record that a tenant replaces", [][3]string{{tool, "", `{}`}, {tool, "acme", `{}`},
			{skill, "acme", `{"tool_ids":["$.s.t"]}`}}, "", nil},
		{"a tenant's record to which a global one links", [][3]string{{tool, "acme", `{}`},
			{skill, "", `{"tool_ids":["$.s.t"]}`}}, "acme", []schemas.Referrer{link("", "$.a")}},
		{"a tenant's record that a global one replaces", [][3]string{{tool, "", `{}`}, {tool, "acme", `{}`},
			{skill, "", `{"tool_ids":["$.s.t"]}`}, {skill, "acme", `{"tool_ids":["$.s.t"]}`}}, "acme", nil},
		{"a tenant's record that a retired global one does not replace", [][3]string{{tool, "", `{"status":"retired"}`},
			{tool, "acme", `{}`}, {skill, "", `{"tool_ids":["$.s.t"]}`}}, "acme", []schemas.Referrer{link("", "$.a")}},
		{"a tenant's record to which one of another tenant links", [][3]string{{tool, "acme", `{}`},
			{skill, "other", `{"tool_ids":["$.s.t"]}`}}, "acme", nil},
	} {
		domain := fmt.Sprintf("d%d", i)
		expand := func(text string) string { return strings.ReplaceAll(text, "$", domain) }
		id := map[string]string{skill: domain + ".a", guard: domain + ".a", tool: domain + ".s.t"}
		register := func() {
			for _, r := range row.records {
				put(r[0], r[1], id[r[0]], expand(r[2]))
			}
		}
		register()
		for n := range row.want {
			row.want[n].ID = expand(row.want[n].ID)
		}
		deletion := schemas.DeleteRecord{Unregister: schemas.Unregister{Kind: tool, ID: id[tool],
			TenantID: schemas.Optional(row.tenant)}}
		_, err := bus.DeleteRecord.Call(t.Context(), conn, deletion)
		var refused *schemas.Error
		if errors.As(err, &refused) != (row.want != nil) {
			t.Errorf("%s: got %v", row.name, err)
			continue
		}
		if refused != nil {
			want := &schemas.ReferrerSummary{Count: len(row.want), First: row.want}
			if diff := cmp.Diff(want, refused.Referrers); diff != "" || refused.Code != schemas.ErrRecordReferenced.Code {
				t.Errorf("%s: %v (-want +got):\n%s", row.name, refused, diff)
			}
		}
		register()
		done, err := bus.Unregister.Call(t.Context(), conn, deletion.Unregister)
		if err != nil || (done.Referrers != nil) != (row.want != nil) {
			t.Errorf("%s: the contract's form replied %+v, %v", row.name, done, err)
		}
		register()
		deletion.Force = true
		if _, err := bus.DeleteRecord.Call(t.Context(), conn, deletion); err != nil {
			t.Errorf("%s, with force: %v", row.name, err)
		}
	}
}

// TestDeletionNamesAtMost20Referrers deletes a tool of 30 skills.
func TestDeletionNamesAtMost20Referrers(t *testing.T) {
	t.Parallel()
	conn, _ := serveSearchable(t)
	records := schemas.PutRecords{Records: []jsontext.Value{[]byte(`{"kind":"tool","record":{"tool_id":"p.s.t"}}`)}}
	for i := range 30 {
		records.Records = append(records.Records,
			fmt.Appendf(nil, `{"kind":"skill","record":{"skill_id":"net.s%d","tool_ids":["p.s.t"]}}`, i))
	}
	if _, err := bus.PutRecords.Call(t.Context(), conn, records); err != nil {
		t.Fatal(err)
	}
	_, err := bus.DeleteRecord.Call(t.Context(), conn,
		schemas.DeleteRecord{Unregister: schemas.Unregister{Kind: schemas.KindTool, ID: "p.s.t"}})
	var refused *schemas.Error
	if !errors.As(err, &refused) || refused.Referrers == nil {
		t.Fatal(err)
	}
	if n := len(refused.Referrers.First); n != schemas.MaxReferrers || refused.Referrers.Count != 30 {
		t.Errorf("got %d of %d referrers, want 20 of 30", n, refused.Referrers.Count)
	}
}
