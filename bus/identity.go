package bus

import (
	"context"
	"slices"
	"strings"

	"cairn/schemas"
)

type identityKey struct{}

// WithIdentity returns ctx for a request of the identity.
func WithIdentity(ctx context.Context, caller *schemas.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, caller)
}

// Identity returns the identity of ctx's caller; nil: no authentication.
func Identity(ctx context.Context) *schemas.Identity {
	caller, _ := ctx.Value(identityKey{}).(*schemas.Identity)
	return caller
}

// AdmissionKey returns the tenant that a request counts against wherever capacity is divided among
// tenants (admission.Pool): the tenant of the caller's identity when it is bound to one, all its
// tenants as one key when it is bound to several, and otherwise the tenant_id of the request, which
// is empty for the global collection. A nil identity means a caller without authentication. Pass a
// pointer to the decoded request, or nil for a request without a tenant_id.
//
// A bound caller cannot choose its key, so its request is admitted before it is decoded. The key of
// any other caller needs the decoded request (at most MaxBody bytes): the caller may act for any
// tenant, and its request names the tenant. No header carries the key: the edge would have to decode
// the body too, and the worker to verify the header against it.
func AdmissionKey(caller *schemas.Identity, req any) string {
	switch {
	case !caller.Bound():
		return schemas.TenantOf(req)
	case len(caller.Tenants) == 1:
		return caller.Tenants[0]
	default:
		return strings.Join(slices.Sorted(slices.Values(caller.Tenants)), "\n")
	}
}
