package schemas

import (
	"fmt"
	"slices"
	"strings"
)

// Permission is what the caller of a request must be allowed; empty admits every caller.
type Permission string

// The permissions.
const (
	PermissionRead     Permission = "read"     // resolve, list, and read tags
	PermissionTag      Permission = "tag"      // write and remove tags
	PermissionRegister Permission = "register" // register and remove records
	PermissionAnalyze  Permission = "analyze"  // ask about an estate
	PermissionOperate  Permission = "operate"  // operations on all tenants; needs a credential for all tenants
)

// Role is what a credential is given for.
type Role string

// The roles.
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

// Roles are all roles, in the order in which they may do more.
func Roles() []Role { return []Role{RoleReader, RoleRegistrar, RoleAnalyst, RoleAdmin} }

// Known reports whether r is one of the roles.
func (r Role) Known() bool { return permissions[r] != nil }

// Identity is who asks. A nil one is a caller that Cairn does not ask who it
// is, and may do everything.
type Identity struct {
	ID   string `json:"id"` // of the credential, as logs name it
	Role Role   `json:"role"`
	// Tenants are those that it may speak for; none: all, and nobody in particular.
	Tenants []string `json:"tenants,omitempty"`
}

// Bound reports whether i speaks for some tenants alone.
func (i *Identity) Bound() bool { return i != nil && len(i.Tenants) > 0 }

// May returns ErrForbidden when the role does not have the permission, or when the
// permission concerns all tenants and the credential does not.
func (i *Identity) May(permission Permission) error {
	if i == nil || permission == "" {
		return nil
	}
	if slices.Contains(permissions[i.Role], permission) {
		if permission == PermissionOperate && i.Bound() {
			return ErrForbidden.Because("this concerns all tenants; want a credential for all tenants, of the role admin")
		}
		return nil
	}
	var able []string
	for _, role := range Roles() {
		if slices.Contains(permissions[role], permission) {
			able = append(able, string(role))
		}
	}
	return ErrForbidden.Because(fmt.Sprintf("the role %s may not %s; want %s", i.Role, permission, strings.Join(able, " or ")))
}

// Validate names the fields that are wrong.
func (i *Identity) Validate() error {
	var c check
	if !i.Role.Known() {
		c.fail("role", "want one of %v, got %q", Roles(), i.Role)
	}
	for n, tenant := range i.Tenants {
		c.tenant(fmt.Sprintf("tenants[%d]", n), &tenant)
	}
	return c.as(ErrMalformed)
}
