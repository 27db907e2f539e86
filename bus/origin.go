package bus

import (
	"context"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

type originKey struct{}

// WithOrigin returns ctx for changes with the origin. Requests that are sent with ctx have its message.
func WithOrigin(ctx context.Context, o schemas.Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// Origin returns the origin of the changes of ctx: of a write that a worker handles, its request.
func Origin(ctx context.Context) schemas.Origin {
	o, _ := ctx.Value(originKey{}).(schemas.Origin)
	return o
}

// changes reports whether requests with the permission change records or settings, which the audit log lists.
func changes(permission schemas.Permission) bool {
	return permission == schemas.PermissionRegister || permission == schemas.PermissionOperate
}

// originOf returns the origin of the changes of a request.
func originOf(ctx context.Context, caller *schemas.Identity, msg *nats.Msg) schemas.Origin {
	o := schemas.Origin{RequestID: RequestID(ctx), Route: msg.Subject}
	o.Message = msg.Header.Get(HeaderMessage)
	if caller != nil {
		o.Actor, o.ActorType = caller.ID, caller.Type
		return o
	}
	var client struct {
		User string `json:"user"`
	}
	// absent in a request from the account of the workers
	_ = json.Unmarshal([]byte(msg.Header.Get(clientInfoHeader)), &client)
	return withUser(o, client.User)
}

// OriginOf returns the origin of the changes of ctx that the NATS user of the connection makes.
func OriginOf(ctx context.Context, c *Conn) schemas.Origin { return withUser(Origin(ctx), c.User()) }

// withUser returns the origin with a NATS user as its actor, or without an actor.
func withUser(o schemas.Origin, user string) schemas.Origin {
	if o.Actor, o.ActorType = user, schemas.ActorNATS; user == "" {
		o.ActorType = ""
	}
	return o
}

// userOf returns the user in the URL of a server. A user name without a password is a token, which is secret.
func userOf(u *url.URL) string {
	if _, named := u.User.Password(); named {
		return u.User.Username()
	}
	return ""
}
