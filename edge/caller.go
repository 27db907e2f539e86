package edge

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"cairn/bus"
	"cairn/edge/describe"
	"cairn/edge/mcp"
	"cairn/schemas"
)

// identity responds with the caller of the request.
func identity() action {
	return action{
		Spec: describe.Spec{
			Permission: schemas.PermissionRead, Reply: reflect.TypeFor[schemas.Caller](), Invalid: schemas.ErrMalformed,
			Summary: "The caller of the request, with its tenants and permissions",
		},
		answer: func(x *exchange) error { return respond(x, x.caller.Caller()) },
	}
}

// authenticate identifies the caller and checks its rate limit and permission.
func authenticate(x *exchange) error {
	authenticator := x.edge.authenticator
	if authenticator == nil || x.spec.Open {
		return nil
	}
	caller, err := authenticator.Identify(x.ctx, x.r.Header["Authorization"])
	if errors.Is(err, schemas.ErrUnauthenticated) {
		x.w.Header()["Www-Authenticate"] = []string{challenge(x)}
	}
	if err != nil {
		return err
	}
	x.caller, x.ctx, x.body.tenant = caller, bus.WithIdentity(x.ctx, caller), bus.AdmissionKey(caller, nil)
	if wait, err := authenticator.Allow(caller); err != nil {
		setRetryAfter(x.w, wait)
		return err
	}
	return caller.Authorize(x.spec.Permission)
}

// hasAllTenants reports whether the caller may read data of all tenants.
func hasAllTenants(x *exchange) bool {
	caller, err := x.edge.authenticator.Identify(x.ctx, x.r.Header["Authorization"])
	return err == nil && !caller.Bound()
}

// recheckInterval is the interval at which the credential of an open stream is verified again.
const recheckInterval = 500 * time.Millisecond

// streamContext returns the context of a stream. It ends when the client disconnects, and,
// with schemas.ErrUnauthenticated as its cause, once the credential of the caller is revoked
// or expired.
func streamContext(x *exchange) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(x.ctx)
	stop := context.AfterFunc(x.r.Context(), func() { cancel(nil) })
	if x.edge.authenticator != nil {
		go recheckCredential(ctx, x, cancel) // not awaited: a request to an OpenID provider may outlast the stream
	}
	return ctx, func() { stop(); cancel(nil) }
}

// recheckCredential verifies the caller's credential periodically and calls cancel with the
// error once it is revoked or expired. It returns after calling cancel or when ctx ends.
func recheckCredential(ctx context.Context, x *exchange, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(recheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := x.edge.authenticator.Identify(ctx, x.r.Header["Authorization"]); errors.Is(err,
			schemas.ErrUnauthenticated) {
			cancel(err)
			return
		}
	}
}

// streamError returns the error of an invalid credential if it ended the stream context,
// otherwise err.
func streamError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, schemas.ErrUnauthenticated) {
		return cause
	}
	return err
}

// resourceMetadata is the path prefix of OAuth protected resource metadata; the path of the
// resource follows (RFC 9728, 3.1).
const resourceMetadata = "/.well-known/oauth-protected-resource"

// protectedResource returns an action that names the OpenID providers whose tokens are
// accepted at path.
func protectedResource(path string) action {
	return action{
		Spec: describe.Spec{
			Open: true, Reply: reflect.TypeFor[schemas.ProtectedResource](), Invalid: schemas.ErrMalformed,
			Summary: "OAuth metadata of this server (RFC 9728); 404 without an OpenID provider",
		},
		answer: func(x *exchange) error {
			issuers, base := x.edge.authenticator.Issuers(), baseURL(x.r)
			if len(issuers) == 0 || base == "" {
				return schemas.ErrUnknownPath.Because("no OpenID provider is configured")
			}
			return respond(x, schemas.ProtectedResource{
				Resource: base + path, ResourceName: "Cairn", AuthorizationServers: issuers, BearerMethods: []string{"header"},
			})
		},
	}
}

// baseURL returns the URL of this server as the client sees it; empty without a Host. A
// forged X-Forwarded-Proto changes the response to its sender only.
func baseURL(r *http.Request) string {
	if r.Host == "" {
		return ""
	}
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// challenge returns the value of WWW-Authenticate for a request without a valid credential.
func challenge(x *exchange) string {
	const bearer = `Bearer realm="cairn"`
	base := baseURL(x.r)
	if x.spec.Path != mcp.Path || base == "" || len(x.edge.authenticator.Issuers()) == 0 {
		return bearer
	}
	return bearer + `, resource_metadata="` + base + resourceMetadata + mcp.Path + `"`
}
