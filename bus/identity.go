package bus

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	lru "github.com/hashicorp/golang-lru/v2"
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

// remembered is how many identities are known in both forms. A process meets the
// same ones again and again.
const remembered = 4096

var (
	encoded, _ = lru.New[*schemas.Identity, string](remembered) // fails for a size below 1
	decoded, _ = lru.New[string, *schemas.Identity](remembered)
)

func encodeIdentity(by *schemas.Identity) string {
	if said, ok := encoded.Get(by); ok {
		return said
	}
	body, _ := json.Marshal(by) // names that are not UTF-8 are no credential's
	said := string(body)
	encoded.Add(by, said)
	return said
}

// decodeIdentity is who the header speaks of; it is not to be changed.
func decodeIdentity(said string) (*schemas.Identity, error) {
	if by, ok := decoded.Get(said); ok {
		return by, nil
	}
	by := &schemas.Identity{}
	if err := json.Unmarshal([]byte(said), by); err != nil || by.Validate() != nil {
		return nil, schemas.ErrForbidden.Because("nobody is known by what " + HeaderIdentity + " says")
	}
	decoded.Add(strings.Clone(said), by)
	return by, nil
}

// admit is ctx with who asks, or why it may not. A request from another account
// of NATS has a header of the server (an import with "share"); who asks from
// there is known to NATS alone, and cannot speak for somebody else.
func admit(ctx context.Context, header func(string) string, permission schemas.Permission) (context.Context, *schemas.Identity, error) {
	said := header(HeaderIdentity)
	if said == "" {
		return ctx, nil, nil
	}
	if header(server.ClientInfoHdr) != "" {
		return ctx, nil, schemas.ErrForbidden.Because("only an edge may say who asks (" + HeaderIdentity + ")")
	}
	by, err := decodeIdentity(said)
	if err != nil {
		return ctx, nil, err
	}
	return WithIdentity(ctx, by), by, by.Authorize(permission)
}
