package schemas_test

import (
	"errors"
	"testing"

	"cairn/schemas"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role schemas.Role
		may  []schemas.Permission
		not  []schemas.Permission
	}{
		{schemas.RoleReader, []schemas.Permission{"", schemas.PermissionRead}, []schemas.Permission{schemas.PermissionTag, schemas.PermissionRegister, schemas.PermissionAnalyze, schemas.PermissionOperate}},
		{schemas.RoleRegistrar, []schemas.Permission{schemas.PermissionRead, schemas.PermissionTag, schemas.PermissionRegister}, []schemas.Permission{schemas.PermissionAnalyze, schemas.PermissionOperate}},
		{schemas.RoleAnalyst, []schemas.Permission{schemas.PermissionRead, schemas.PermissionTag, schemas.PermissionAnalyze}, []schemas.Permission{schemas.PermissionRegister, schemas.PermissionOperate}},
		{schemas.RoleAdmin, []schemas.Permission{schemas.PermissionRead, schemas.PermissionTag, schemas.PermissionRegister, schemas.PermissionAnalyze, schemas.PermissionOperate}, nil},
		{"king", []schemas.Permission{""}, []schemas.Permission{schemas.PermissionRead}},
	} {
		by := &schemas.Identity{ID: "k", Role: c.role}
		for _, right := range c.may {
			if err := by.May(right); err != nil {
				t.Errorf("%s may %s: %v", c.role, right, err)
			}
		}
		for _, right := range c.not {
			if err := by.May(right); !errors.Is(err, schemas.ErrForbidden) {
				t.Errorf("%s may not %s: got %v", c.role, right, err)
			}
		}
	}
	bound := &schemas.Identity{ID: "k", Role: schemas.RoleAdmin, Tenants: []string{"acme"}}
	if err := bound.May(schemas.PermissionOperate); !errors.Is(err, schemas.ErrForbidden) {
		t.Errorf("an admin of one tenant operates on all: got %v, want %v", err, schemas.ErrForbidden)
	}
	if err := (*schemas.Identity)(nil).May(schemas.PermissionOperate); err != nil {
		t.Errorf("who is not asked may everything: %v", err)
	}
}

// of is a registration with what its record says of a tenant.
func of(tenant string) string { return `{"record":{"skill_id":"net.a"` + tenant + `}}` }

func TestTenantOfARegistration(t *testing.T) {
	t.Parallel()
	all, acme, both := []string(nil), []string{"acme"}, []string{"acme", "globex"}
	for _, c := range []struct {
		name    string
		role    schemas.Role
		tenants []string
		body    string
		want    string // the record that is stored; empty: refused
		err     error
	}{
		{"its own", schemas.RoleRegistrar, acme, of(`,"tenant_id":"acme"`), `{"skill_id":"net.a","tenant_id":"acme"}`, nil},
		{"another's", schemas.RoleRegistrar, acme, of(`,"tenant_id":"globex"`), "", schemas.ErrForbidden},
		{"none", schemas.RoleRegistrar, acme, of(""), `{"tenant_id":"acme","skill_id":"net.a"}`, nil},
		{"none of several", schemas.RoleRegistrar, both, of(""), "", schemas.ErrMalformed},
		{"one of several", schemas.RoleRegistrar, both, of(`,"tenant_id":"globex"`), `{"skill_id":"net.a","tenant_id":"globex"}`, nil},
		{"everybody's", schemas.RoleRegistrar, acme, of(`,"tenant_id":null`), "", schemas.ErrForbidden},
		{"everybody's, by a tenant's admin, who could not remove it", schemas.RoleAdmin, acme, of(`,"tenant_id":null`), "", schemas.ErrForbidden},
		{"everybody's, by an admin of all", schemas.RoleAdmin, all, of(`,"tenant_id":null`), `{"skill_id":"net.a","tenant_id":null}`, nil},
		{"an admin's own", schemas.RoleAdmin, acme, of(""), `{"tenant_id":"acme","skill_id":"net.a"}`, nil},
		{"global, bound to none", schemas.RoleRegistrar, all, of(""), "", schemas.ErrForbidden},
		{"global, by an admin of all", schemas.RoleAdmin, all, of(""), `{"skill_id":"net.a"}`, nil},
		{"any tenant's, bound to none", schemas.RoleRegistrar, all, of(`,"tenant_id":"acme"`), `{"skill_id":"net.a","tenant_id":"acme"}`, nil},
	} {
		req, err := schemas.Decode[schemas.RegisterSkill]([]byte(c.body), schemas.ErrInvalidRegistration)
		if err != nil {
			t.Fatal(err)
		}
		by := &schemas.Identity{ID: "k", Role: c.role, Tenants: c.tenants}
		if err := by.Admit(schemas.PermissionRegister, &req); !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.err)
		} else if got := string(req.Record.Raw); err == nil && got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTenantOfAQuery(t *testing.T) {
	t.Parallel()
	acme := &schemas.Identity{ID: "k", Role: schemas.RoleReader, Tenants: []string{"acme"}}
	var q schemas.SkillQuery
	if err := acme.Admit(schemas.PermissionRead, &q); err != nil || q.Tenant() != "acme" {
		t.Errorf("a query is about %q, %v, want that of the credential", q.Tenant(), err)
	}
	other := "globex"
	list := schemas.ListQuery{TenantID: &other}
	if err := acme.Admit(schemas.PermissionRead, &list); !errors.Is(err, schemas.ErrForbidden) {
		t.Errorf("got %v, want %v", err, schemas.ErrForbidden)
	}
	all := &schemas.Identity{ID: "k", Role: schemas.RoleReader}
	var key schemas.TagKey
	if err := errors.Join(all.Admit(schemas.PermissionRead, &list), all.Admit(schemas.PermissionRead, &key)); err != nil || key.TenantID != nil {
		t.Errorf("a credential of all tenants: %v, %v", err, key.TenantID)
	}
}
