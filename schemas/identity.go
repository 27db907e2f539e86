package schemas

import (
	"fmt"
	"slices"
	"strings"
)

// Permission is the permission that a request requires; empty admits every caller.
type Permission string

// Permissions.
const (
	PermissionRead     Permission = "read"     // resolve, list, and read tags
	PermissionTag      Permission = "tag"      // write and remove tags
	PermissionRegister Permission = "register" // register and remove records
	PermissionAnalyze  Permission = "analyze"  // run analyses
	PermissionOperate  Permission = "operate"  // operations on all tenants; requires a credential for all tenants
)

// Role is a named set of permissions.
type Role string

// Roles.
const (
	RoleReader    Role = "reader"
	RoleRegistrar Role = "registrar"
	RoleAnalyst   Role = "analyst"
	RoleAdmin     Role = "admin"
)

var permissions = map[Role][]Permission{
	RoleReader:    {PermissionRead},
	RoleRegistrar: {PermissionRead, PermissionTag, PermissionRegister},
	RoleAnalyst:   {PermissionRead, PermissionTag, PermissionAnalyze},
	RoleAdmin:     {PermissionRead, PermissionTag, PermissionRegister, PermissionAnalyze, PermissionOperate},
}

// Roles returns all roles, in ascending order of permissions.
func Roles() []Role { return []Role{RoleReader, RoleRegistrar, RoleAnalyst, RoleAdmin} }

// Known reports whether r is a declared role.
func (r Role) Known() bool { return permissions[r] != nil }

// Identity is the authenticated caller of a request. A nil Identity is a caller
// on a server without authentication and has every permission.
type Identity struct {
	ID   string `json:"id"`            // of the credential; used in logs
	Type string `json:"type,omitzero"` // ActorKey or ActorToken
	Role Role   `json:"role"`
	// Tenants are the tenants that the credential is bound to; empty means all tenants.
	Tenants []string `json:"tenants,omitempty"`
}

// Bound reports whether the credential is bound to specific tenants.
func (i *Identity) Bound() bool { return i != nil && len(i.Tenants) > 0 }

// Authorize returns ErrForbidden if the role lacks the permission, or if the permission
// concerns all tenants and the credential is bound to some.
func (i *Identity) Authorize(permission Permission) error {
	if i == nil || permission == "" {
		return nil
	}
	if slices.Contains(permissions[i.Role], permission) {
		if permission == PermissionOperate && i.Bound() {
			return ErrForbidden.Because("operations on all tenants require a credential for all tenants with the role admin")
		}
		return nil
	}
	var able []string
	for _, role := range Roles() {
		if slices.Contains(permissions[role], permission) {
			able = append(able, string(role))
		}
	}
	return ErrForbidden.Because(fmt.Sprintf("the role %s lacks the permission %s; expected the role %s", i.Role,
		permission,
		strings.Join(able, " or ")))
}

// Caller describes the caller of a request: its credential and permissions.
type Caller struct {
	ID          string       `json:"id,omitzero" doc:"of the credential; absent on a server without authentication"`
	Role        Role         `json:"role,omitzero" doc:"of the credential; absent on a server without authentication"`
	Tenants     []string     `json:"tenants,omitempty" doc:"the tenants of the credential; absent: all tenants and the global scope"`
	Scope       string       `json:"scope,omitzero" doc:"the tenant of requests that name none; absent: the global scope, or none if there are several tenants"`
	Permissions []Permission `json:"permissions" doc:"read, tag, register, analyze, operate: permissions of the caller"`
}

// Caller returns the description of i.
func (i *Identity) Caller() Caller {
	var c Caller
	if i != nil {
		c = Caller{ID: i.ID, Role: i.Role, Tenants: i.Tenants}
		if len(i.Tenants) == 1 {
			c.Scope = i.Tenants[0]
		}
	}
	for _, p := range permissions[RoleAdmin] {
		if i.Authorize(p) == nil {
			c.Permissions = append(c.Permissions, p)
		}
	}
	return c
}

// Validate returns ErrMalformed with the invalid fields.
func (i *Identity) Validate() error {
	var c check
	if !i.Role.Known() {
		c.fail("role", "expected one of %v, got %q", Roles(), i.Role)
	}
	for n, tenant := range i.Tenants {
		c.tenant(fmt.Sprintf("tenants[%d]", n), &tenant)
	}
	return c.as(ErrMalformed)
}

// AuthorizeTenant checks that the identity may access the tenant of req, a pointer to
// a request. If the request has no tenant and the identity is bound to one tenant, it sets the tenant
// of the request. It returns ErrForbidden for another tenant, or for a global record that the role
// must not write, and ErrMalformed if the tenant is ambiguous.
func (i *Identity) AuthorizeTenant(permission Permission, req any) error {
	r, ok := req.(tenantRequest)
	if i == nil || !ok {
		return nil
	}
	f := r.tenantField()
	writes := permission == PermissionRegister
	switch global := *f.id == nil; {
	case global && writes && i.Bound() && f.isNull():
		return ErrForbidden.With(FieldError{f.field,
			"global records require a credential for all tenants; expected one of: " + strings.Join(i.Tenants, ", ")})
	case global && writes && !i.Bound() && i.Role != RoleAdmin:
		return ErrForbidden.With(FieldError{f.field, "global records require the role admin; expected a tenant_id"})
	case !i.Bound():
		return nil
	case !global && !slices.Contains(i.Tenants, **f.id):
		return ErrForbidden.With(FieldError{f.field, "expected a tenant of the credential: " + strings.Join(i.Tenants, ", ")})
	case !global:
		return nil
	case len(i.Tenants) > 1:
		return ErrMalformed.With(FieldError{f.field,
			"required: the credential is bound to several tenants; expected one of: " + strings.Join(i.Tenants, ", ")})
	default:
		return f.set(i.Tenants[0])
	}
}
