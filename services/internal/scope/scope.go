// Package scope determines the records that are visible to a request.
package scope

import (
	"fmt"

	"cairn/schemas"
)

// Global is the tenant of global records, and the scope of a request without
// a tenant.
const Global = ""

// Scope is the visibility of a request of the tenant: the tenant's records and the global
// ones. An id means the tenant's record, or else the global one.
type Scope string

// Tenants returns the tenants whose records are in scope, in order of precedence: the
// first tenant with a result determines it.
func (s Scope) Tenants() []string {
	if s == Global {
		return []string{Global}
	}
	return []string{string(s), Global}
}

// Named returns the tenants of the scope that a request restricts to name; all of them if it is empty. In a request
// without a tenant, the tenant's scope is the global one.
func (s Scope) Named(name string) []string {
	switch name {
	case schemas.ScopeGlobal:
		return []string{Global}
	case schemas.ScopeTenant:
		return []string{string(s)}
	default:
		return s.Tenants()
	}
}

// String describes the scope for error messages.
func (s Scope) String() string { return s.Text("") }

// Text describes the scope that a request restricts to name for error messages.
func (s Scope) Text(name string) string {
	tenants := s.Named(name)
	switch {
	case tenants[0] == Global:
		return "the global collection"
	case len(tenants) == 1:
		return fmt.Sprintf("tenant %q", tenants[0])
	default:
		return fmt.Sprintf("tenant %q or the global collection", tenants[0])
	}
}

// First returns the first tenant for which exists returns true, in order of precedence.
func (s Scope) First(exists func(tenant string) bool) (tenant string, ok bool) {
	for _, tenant := range s.Tenants() {
		if exists(tenant) {
			return tenant, true
		}
	}
	return "", false
}
