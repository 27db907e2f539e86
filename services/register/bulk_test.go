package register_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
)

// records returns a request with the records, each in JSON.
func records(list ...string) (req schemas.PutRecords) {
	for _, r := range list {
		req.Records = append(req.Records, jsontext.Value(r))
	}
	return req
}

// outcome describes a result: the error code and its first field, or the fields of warnings.
func outcome(r schemas.RecordResult) string {
	if r.Error != nil {
		if len(r.Error.Fields) > 0 {
			return r.Error.Code + " " + r.Error.Fields[0].Field
		}
		return r.Error.Code
	}
	if r.Revision == "" {
		return "no revision"
	}
	var fields []string
	for _, w := range r.Warnings {
		fields = append(fields, w.Field)
	}
	return r.Kind + " " + r.ID + " " + strings.Join(fields, " ")
}

func TestPutRecords(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	rows := []struct{ name, record, want string }{
		{"a skill", `{"kind":"skill","record":{"skill_id":"net.a"}}`, "skill net.a "},
		{"an id in the request", `{"kind":"tool","id":"a.b.c","record":{}}`, "tool a.b.c "},
		{"references to other lines, and to an absent record",
			`{"kind":"skill","record":{"skill_id":"net.b","tool_ids":["a.b.c","no.such.tool"]}}`,
			"skill net.b record.tool_ids[1]"},
		{"a misspelt field", `{"kind":"skill","record":{"skill_id":"net.c","purpos":"p"}}`, "skill net.c record.purpos"},
		{"a tenant", `{"kind":"agent","tenant_id":"acme","record":{"agent_id":"x"}}`, "agent x "},
		{"another id in the record", `{"kind":"agent","id":"x","record":{"agent_id":"y"}}`, "CE-061 record.agent_id"},
		{"no id", `{"kind":"agent","record":{}}`, "CE-061 id"},
		{"an id that is a number", `{"kind":"agent","record":{"agent_id":5}}`, "CE-061 id"},
		{"an unknown kind", `{"kind":"playbook","record":{"skill_id":"net.a"}}`, "CE-061 kind"},
		{"a kind that is a number", `{"kind":5,"record":{}}`, "CE-061 kind"},
		{"no record", `{"kind":"skill"}`, "CE-061 record"},
		{"a record that is a list", `{"kind":"skill","id":"net.a","record":[]}`, "CE-061 record"},
		{"an invalid field", `{"kind":"skill","record":{"skill_id":"net.d","version":"1"}}`, "CE-061 record.version"},
		{"a list", `[]`, "CE-061 body"},
	}
	var req schemas.PutRecords
	for _, row := range rows {
		req.Records = append(req.Records, jsontext.Value(row.record))
	}
	got, err := bus.PutRecords.Call(t.Context(), conn, req)
	if err != nil || len(got.Results) != len(rows) {
		t.Fatalf("got %d results, %v, want %d", len(got.Results), err, len(rows))
	}
	for i, row := range rows {
		if got := outcome(got.Results[i]); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
		if e := got.Results[i].Error; e != nil && e.RequestID == "" {
			t.Errorf("%s: the error has no request id", row.name)
		}
	}
	if e, err := c.Get(t.Context(), catalog.Key{Kind: "agent", Tenant: "acme", ID: "x"}); err != nil ||
		string(e.Record) == "" {
		t.Errorf("the agent of the tenant: %+v, %v", e, err)
	}
	if _, err := bus.ResolvePackage.Call(t.Context(), conn, schemas.SkillRef{SkillID: "net.b"}); err != nil {
		t.Errorf("resolve a skill of the bulk: %v", err)
	}
}

func TestPutRecordsLastOneWins(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	var req schemas.PutRecords
	for i := range schemas.MaxBulk {
		req.Records = append(req.Records, fmt.Appendf(nil, `{"kind":"tool","record":{"tool_id":"a.b.c%d","of":%d}}`, i%10, i))
	}
	got, err := bus.PutRecords.Call(t.Context(), conn, req)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		last := (schemas.MaxBulk-1-i)/10*10 + i
		e, err := c.Get(t.Context(), catalog.Key{Kind: "tool", ID: fmt.Sprintf("a.b.c%d", i)})
		if err != nil || !strings.Contains(string(e.Record), fmt.Sprintf(`"of":%d}`, last)) {
			t.Errorf("got %s, %v, want the record of line %d", e.Record, err, last)
		}
		token := schemas.ConsistencyToken{Catalog: c.ID(), Revision: e.Revision}
		if r := got.Results[last]; r.Revision != token.String() {
			t.Errorf("line %d: got revision %q, want %s", last, r.Revision, token)
		}
	}
}

func TestPutRecordsStrict(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	acme := "acme"
	req := records(`{"kind":"tool","record":{"tool_id":"a.b.c","purpos":"p"}}`,
		`{"kind":"tool","record":{"tool_id":"a.b.d"}}`)
	req.Strict, req.TenantID = true, &acme
	got, err := bus.PutRecords.Call(t.Context(), conn, req)
	if err != nil || outcome(got.Results[0]) != "CE-061 record.purpos" || outcome(got.Results[1]) != "tool a.b.d " {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := c.Get(t.Context(), catalog.Key{Kind: "tool", Tenant: acme, ID: "a.b.c"}); !errors.Is(err,
		catalog.ErrNotFound) {
		t.Errorf("the rejected record: got %v, want %v", err, catalog.ErrNotFound)
	}
	if _, err := c.Get(t.Context(), catalog.Key{Kind: "tool", Tenant: acme, ID: "a.b.d"}); err != nil {
		t.Errorf("a record of the tenant of the request: %v", err)
	}
}

// TestPutRecordsAuthorizesEach sends records of several tenants with the identity of one.
func TestPutRecordsAuthorizesEach(t *testing.T) {
	t.Parallel()
	conn, _ := serveSearchable(t)
	req := records(`{"kind":"tool","record":{"tool_id":"a.b.own"}}`,
		`{"kind":"tool","record":{"tool_id":"a.b.c","tenant_id":"other"}}`,
		`{"kind":"tool","tenant_id":"other","record":{"tool_id":"a.b.c"}}`,
		`{"kind":"tool","record":{"tool_id":"a.b.c","tenant_id":null}}`,
		`{"kind":"tool","record":{"tool_id":"a.b.d","tenant_id":"acme"}}`)
	for _, row := range []struct {
		identity schemas.Identity
		want     []string
	}{
		{schemas.Identity{ID: "a", Role: schemas.RoleRegistrar, Tenants: []string{"acme"}},
			[]string{"tool a.b.own ", "CE-007 tenant_id", "CE-007 tenant_id", "CE-007 tenant_id", "tool a.b.d "}},
		{schemas.Identity{ID: "b", Role: schemas.RoleRegistrar, Tenants: []string{"acme", "third"}},
			[]string{"CE-001 tenant_id", "CE-007 tenant_id", "CE-007 tenant_id", "CE-007 tenant_id", "tool a.b.d "}},
	} {
		got, err := bus.PutRecords.Call(bus.WithIdentity(t.Context(), &row.identity), conn, req)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range row.want {
			if got := outcome(got.Results[i]); got != want {
				t.Errorf("%s: record %d: got %q, want %q", row.identity.ID, i, got, want)
			}
		}
	}
	reader := schemas.Identity{ID: "c", Role: schemas.RoleReader, Tenants: []string{"acme"}}
	if _, err := bus.PutRecords.Call(bus.WithIdentity(t.Context(), &reader), conn, req); !errors.Is(err,
		schemas.ErrForbidden) {
		t.Errorf("a reader: got %v, want %v", err, schemas.ErrForbidden)
	}
}

func TestPutRecordsLimits(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	serveLimited(t, conn, quota.Amount{Count: 2})
	tool := func(id string) string { return `{"kind":"tool","record":{"tool_id":"a.b.` + id + `"}}` }
	got, err := bus.PutRecords.Call(t.Context(), conn, records(tool("1"), tool("2"), tool("3"), tool("4")))
	if err != nil {
		t.Fatal(err)
	}
	exceeded := 0
	for _, r := range got.Results {
		if r.Error != nil && r.Error.Code == "CE-008" {
			exceeded++
		}
	}
	if exceeded != 2 {
		t.Errorf("got %+v, want two records beyond the quota", got.Results)
	}
	var many schemas.PutRecords
	for range schemas.MaxBulk + 1 {
		many.Records = append(many.Records, jsontext.Value(tool("1")))
	}
	if _, err := bus.PutRecords.Call(t.Context(), conn, many); !errors.Is(err, schemas.ErrInvalidRegistration) {
		t.Errorf("too many records: got %v, want %v", err, schemas.ErrInvalidRegistration)
	}
}
