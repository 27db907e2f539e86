package schemas

import (
	"fmt"
	"slices"
	"strings"
)

// Right is what a request needs its caller to have; empty: nothing.
type Right string

// The rights.
const (
	RightRead     Right = "read"     // resolve, list, and read tags
	RightTag      Right = "tag"      // write and remove tags
	RightRegister Right = "register" // register and remove records
	RightAnalyze  Right = "analyze"  // ask about an estate
	RightOperate  Right = "operate"  // operations on all tenants; needs a credential for all tenants
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

var rights = map[Role][]Right{
	RoleReader:    {RightRead},
	RoleRegistrar: {RightRead, RightTag, RightRegister},
	RoleAnalyst:   {RightRead, RightTag, RightAnalyze},
	RoleAdmin:     {RightRead, RightTag, RightRegister, RightAnalyze, RightOperate},
}

// Roles are all roles, in the order in which they may do more.
func Roles() []Role { return []Role{RoleReader, RoleRegistrar, RoleAnalyst, RoleAdmin} }

// Known reports whether r is one of the roles.
func (r Role) Known() bool { return rights[r] != nil }

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

// May returns ErrForbidden when the role does not have the right, or when the
// right concerns all tenants and the credential does not.
func (i *Identity) May(needs Right) error {
	if i == nil || needs == "" {
		return nil
	}
	if slices.Contains(rights[i.Role], needs) {
		if needs == RightOperate && i.Bound() {
			return ErrForbidden.Because("this concerns all tenants; want a credential for all tenants, of the role admin")
		}
		return nil
	}
	var able []string
	for _, role := range Roles() {
		if slices.Contains(rights[role], needs) {
			able = append(able, string(role))
		}
	}
	return ErrForbidden.Because(fmt.Sprintf("the role %s may not %s; want %s", i.Role, needs, strings.Join(able, " or ")))
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
