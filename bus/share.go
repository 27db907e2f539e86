package bus

import (
	"slices"
	"strings"

	"cairn/schemas"
)

// ShareKey returns the tenant that a request counts against wherever capacity
// is divided among tenants (admission.Pool): the tenant of the caller's identity
// when it is bound to one, all its tenants as one key when it is bound to
// several, and otherwise the tenant_id of the request, which is empty for the
// global collection. A nil identity means a caller without authentication. Pass
// a pointer to the decoded request, or nil for a request without a tenant_id.
//
// A bound caller cannot choose its key, so its request is admitted before it is
// decoded. The key of any other caller needs the decoded request (at most
// MaxBody bytes): the caller may act for any tenant, and its request names the tenant. No
// header carries the key: the edge would have to decode the body too, and the worker to
// verify the header against it.
func ShareKey(by *schemas.Identity, req any) string {
	switch {
	case !by.Bound():
		return schemas.TenantOf(req)
	case len(by.Tenants) == 1:
		return by.Tenants[0]
	default:
		return strings.Join(slices.Sorted(slices.Values(by.Tenants)), "\n")
	}
}
