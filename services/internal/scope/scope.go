// Package scope determines the records that are visible to a request.
package scope

import "fmt"

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

// String describes the scope for error messages.
func (s Scope) String() string {
	if s == Global {
		return "the global collection"
	}
	return fmt.Sprintf("tenant %q or the global collection", string(s))
}

// First returns the first tenant that satisfies has, in order of precedence.
func (s Scope) First(has func(tenant string) bool) (tenant string, ok bool) {
	for _, tenant := range s.Tenants() {
		if has(tenant) {
			return tenant, true
		}
	}
	return "", false
}
