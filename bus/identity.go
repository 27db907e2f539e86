package bus

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats-server/v2/server"

	"cairn/schemas"
)

type identityKey struct{}

// WithIdentity is ctx for a request of by.
func WithIdentity(ctx context.Context, by *schemas.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, by)
}

// Identity is who asks in ctx; nil: nobody asked who it is.
func Identity(ctx context.Context) *schemas.Identity {
	by, _ := ctx.Value(identityKey{}).(*schemas.Identity)
	return by
}

func encodeIdentity(by *schemas.Identity) string {
	said, _ := json.Marshal(by) // names that are not UTF-8 are no credential's
	return string(said)
}

// admit is ctx with who asks, or why it may not. A request from another account
// of NATS has a header of the server (an import with "share"); who asks from
// there is known to NATS alone, and cannot speak for somebody else.
func admit(ctx context.Context, header func(string) string, needs schemas.Right) (context.Context, *schemas.Identity, error) {
	said := header(HeaderIdentity)
	if said == "" {
		return ctx, nil, nil
	}
	if header(server.ClientInfoHdr) != "" {
		return ctx, nil, schemas.ErrForbidden.Because("only an edge may say who asks (" + HeaderIdentity + ")")
	}
	by := &schemas.Identity{}
	if err := json.Unmarshal([]byte(said), by); err != nil || !by.Role.Known() {
		return ctx, nil, schemas.ErrForbidden.Because("nobody is known by what " + HeaderIdentity + " says")
	}
	return WithIdentity(ctx, by), by, by.May(needs)
}
