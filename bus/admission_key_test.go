package bus_test

import (
	"testing"

	"cairn/bus"
	"cairn/schemas"
)

func TestAdmissionKey(t *testing.T) {
	t.Parallel()
	acme := "acme"
	var skill schemas.RegisterSkill
	skill.Record.Fields.TenantID = &acme
	for _, c := range []struct {
		name   string
		caller *schemas.Identity
		req    any
		want   string
	}{
		{"a caller without authentication counts against the tenant of its request", nil, &schemas.TagKey{TenantID: &acme},
			"acme"},
		{"an identity for all tenants counts against the tenant of its request", &schemas.Identity{Role: schemas.RoleAdmin},
			&skill, "acme"},
		{"without a tenant_id it counts against the global collection", nil, &schemas.SkillQuery{}, ""},
		{"a request that has no tenant_id counts against the global collection", nil, &schemas.Nothing{}, ""},
		{"a bound identity counts against its tenant", &schemas.Identity{Tenants: []string{"globex"}}, nil, "globex"},
		{"a bound identity counts against its tenant even if the request names another",
			&schemas.Identity{Tenants: []string{"globex"}}, &skill, "globex"},
		{"several tenants are one key in any order", &schemas.Identity{Tenants: []string{"b", "a"}}, nil, "a\nb"},
	} {
		if got := bus.AdmissionKey(c.caller, c.req); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func BenchmarkAdmissionKey(b *testing.B) {
	acme := "acme"
	caller, req := &schemas.Identity{Tenants: []string{acme}}, &schemas.SkillQuery{}
	req.TenantID = &acme
	b.ReportAllocs()
	for b.Loop() {
		if bus.AdmissionKey(caller, nil) != bus.AdmissionKey(nil, req) {
			b.Fatal("different keys")
		}
	}
}
