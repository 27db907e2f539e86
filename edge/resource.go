package edge

import (
	"net/http"
	"reflect"

	"cairn/edge/describe"
	"cairn/edge/mcp"
	"cairn/schemas"
)

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
