package schemas_test

import (
	"errors"
	"testing"

	"cairn/schemas"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role    schemas.Role
		granted []schemas.Permission
		denied  []schemas.Permission
	}{
		{schemas.RoleReader, []schemas.Permission{"", schemas.PermissionRead},
			[]schemas.Permission{schemas.PermissionTag, schemas.PermissionRegister, schemas.PermissionAnalyze,
				schemas.PermissionOperate}},
		{schemas.RoleRegistrar, []schemas.Permission{schemas.PermissionRead, schemas.PermissionTag,
			schemas.PermissionRegister},
			[]schemas.Permission{schemas.PermissionAnalyze, schemas.PermissionOperate}},
		{schemas.RoleAnalyst, []schemas.Permission{schemas.PermissionRead, schemas.PermissionTag, schemas.PermissionAnalyze},
			[]schemas.Permission{schemas.PermissionRegister, schemas.PermissionOperate}},
		{schemas.RoleAdmin, []schemas.Permission{schemas.PermissionRead, schemas.PermissionTag, schemas.PermissionRegister,
			schemas.PermissionAnalyze, schemas.PermissionOperate}, nil},
		{"king", []schemas.Permission{""}, []schemas.Permission{schemas.PermissionRead}},
	} {
		identity := &schemas.Identity{ID: "k", Role: c.role}
		for _, permission := range c.granted {
			if err := identity.Authorize(permission); err != nil {
				t.Errorf("role %s, permission %s: %v", c.role, permission, err)
			}
		}
		for _, permission := range c.denied {
			if err := identity.Authorize(permission); !errors.Is(err, schemas.ErrForbidden) {
				t.Errorf("role %s, permission %s: got %v, want ErrForbidden", c.role, permission, err)
			}
		}
	}
	bound := &schemas.Identity{ID: "k", Role: schemas.RoleAdmin, Tenants: []string{"acme"}}
	if err := bound.Authorize(schemas.PermissionOperate); !errors.Is(err, schemas.ErrForbidden) {
		t.Errorf("admin bound to one tenant: got %v, want %v", err, schemas.ErrForbidden)
	}
	if err := (*schemas.Identity)(nil).Authorize(schemas.PermissionOperate); err != nil {
		t.Errorf("nil identity: %v", err)
	}
}

// registration returns a registration whose record has the additional members tenant.
func registration(tenant string) string { return `{"record":{"skill_id":"net.a"` + tenant + `}}` }

func TestAuthorizeRegistration(t *testing.T) {
	t.Parallel()
	all, acme, both := []string(nil), []string{"acme"}, []string{"acme", "globex"}
	for _, c := range []struct {
		name    string
		role    schemas.Role
		tenants []string
		body    string
		want    string // the stored record; empty if rejected
		err     error
	}{
		{"the tenant of the credential", schemas.RoleRegistrar, acme, registration(`,"tenant_id":"acme"`),
			`{"skill_id":"net.a","tenant_id":"acme"}`, nil},
		{"another tenant", schemas.RoleRegistrar, acme, registration(`,"tenant_id":"globex"`), "", schemas.ErrForbidden},
		{"no tenant", schemas.RoleRegistrar, acme, registration(""), `{"tenant_id":"acme","skill_id":"net.a"}`, nil},
		{"no tenant, credential for several", schemas.RoleRegistrar, both, registration(""), "", schemas.ErrMalformed},
		{"one of several tenants", schemas.RoleRegistrar, both, registration(`,"tenant_id":"globex"`),
			`{"skill_id":"net.a","tenant_id":"globex"}`, nil},
		{"explicitly global", schemas.RoleRegistrar, acme, registration(`,"tenant_id":null`), "", schemas.ErrForbidden},
		{"explicitly global, admin of one tenant", schemas.RoleAdmin, acme, registration(`,"tenant_id":null`), "",
			schemas.ErrForbidden},
		{"explicitly global, admin of all tenants", schemas.RoleAdmin, all, registration(`,"tenant_id":null`),
			`{"skill_id":"net.a","tenant_id":null}`, nil},
		{"no tenant, admin of one tenant", schemas.RoleAdmin, acme, registration(""),
			`{"tenant_id":"acme","skill_id":"net.a"}`, nil},
		{"global, registrar of all tenants", schemas.RoleRegistrar, all, registration(""), "", schemas.ErrForbidden},
		{"global, admin of all tenants", schemas.RoleAdmin, all, registration(""), `{"skill_id":"net.a"}`, nil},
		{"any tenant, registrar of all tenants", schemas.RoleRegistrar, all, registration(`,"tenant_id":"acme"`),
			`{"skill_id":"net.a","tenant_id":"acme"}`, nil},
	} {
		req, err := schemas.Decode[schemas.RegisterSkill]([]byte(c.body), schemas.ErrInvalidRegistration)
		if err != nil {
			t.Fatal(err)
		}
		identity := &schemas.Identity{ID: "k", Role: c.role, Tenants: c.tenants}
		if err := identity.AuthorizeTenant(schemas.PermissionRegister, &req); !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.err)
		} else if got := string(req.Record.Raw); err == nil && got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAuthorizeQuery(t *testing.T) {
	t.Parallel()
	acme := &schemas.Identity{ID: "k", Role: schemas.RoleReader, Tenants: []string{"acme"}}
	var q schemas.SkillQuery
	if err := acme.AuthorizeTenant(schemas.PermissionRead, &q); err != nil || q.Tenant() != "acme" {
		t.Errorf("query tenant %q, %v, want acme", q.Tenant(), err)
	}
	other := "globex"
	list := schemas.ListQuery{TenantID: &other}
	if err := acme.AuthorizeTenant(schemas.PermissionRead, &list); !errors.Is(err, schemas.ErrForbidden) {
		t.Errorf("got %v, want %v", err, schemas.ErrForbidden)
	}
	all := &schemas.Identity{ID: "k", Role: schemas.RoleReader}
	var key schemas.TagKey
	if err := errors.Join(all.AuthorizeTenant(schemas.PermissionRead, &list),
		all.AuthorizeTenant(schemas.PermissionRead, &key)); err != nil || key.TenantID != nil {
		t.Errorf("credential for all tenants: %v, %v", err, key.TenantID)
	}
}
