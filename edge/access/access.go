// Package access authenticates the callers of an edge, by API key or by a token of an
// OpenID provider, and limits the requests and streams of each credential.
package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/keys"
	"cairn/schemas"
)

// Config configures authentication. The zero value turns it off.
type Config struct {
	// Keys accepts API keys.
	Keys bool
	// OIDC lists the providers whose tokens are accepted.
	OIDC   []Provider
	Claims Claims
	Limits Limits

	refreshInterval time.Duration // tests shorten tokenTTL
}

// Parse returns the config for the values of --auth: "off" alone, or any number of
// "keys" and "oidc=ISSUER,AUDIENCE".
func Parse(modes []string) (Config, error) {
	var c Config
	if len(modes) > 1 && slices.Contains(modes, "off") {
		return c, errors.New("expected off alone, or any of keys and oidc=ISSUER,AUDIENCE")
	}
	for _, mode := range modes {
		provider, isOIDC := strings.CutPrefix(mode, "oidc=")
		issuer, audience, both := strings.Cut(provider, ",")
		switch {
		case mode == "off":
		case mode == "keys":
			c.Keys = true
		case isOIDC && both && issuer != "" && audience != "":
			if err := requireTLS(issuer); err != nil {
				return c, err
			}
			c.OIDC = append(c.OIDC, Provider{issuer, audience})
		default:
			return c, fmt.Errorf("expected off, keys or oidc=ISSUER,AUDIENCE, got %q", mode)
		}
	}
	return c, nil
}

// requireTLS returns an error for a provider URL that uses plain HTTP to another
// machine: an attacker on the network path could replace the provider's keys.
func requireTLS(provider string) error {
	u, err := url.Parse(provider)
	if err != nil {
		return fmt.Errorf("OpenID provider: %w", err)
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && local {
		return nil
	}
	return fmt.Errorf("OpenID provider: expected an https URL, or http on loopback, got %q", provider)
}

// Enabled reports whether authentication is on.
func (c Config) Enabled() bool { return c.Keys || len(c.OIDC) > 0 }

// Authenticator authenticates callers. It may be used concurrently. A nil Authenticator accepts every
// caller without an identity.
type Authenticator struct {
	ring      *keys.Ring
	verifiers []*verifier
	limits    Limits
	rates     *Rates
	streams   *admission.Limit
}

// Open returns an Authenticator for c, nil when authentication is off. Run keeps its keys current.
func Open(c Config, conn *bus.Conn, log *slog.Logger) *Authenticator {
	if !c.Enabled() {
		return nil
	}
	a := &Authenticator{
		limits:  c.Limits,
		rates:   NewRates(c.Limits.Rate, max(1, int(math.Ceil(c.Limits.Rate))), credentials),
		streams: admission.NewLimit(c.Limits.Streams),
	}
	if c.Keys {
		a.ring = keys.NewRing(conn, log)
	}
	for _, p := range c.OIDC {
		a.verifiers = append(a.verifiers, newVerifier(p, c.Claims, cmp.Or(c.refreshInterval, tokenTTL), log))
	}
	return a
}

// Run applies changes of API keys until ctx ends.
func (a *Authenticator) Run(ctx context.Context) {
	if a != nil && a.ring != nil {
		a.ring.Run(ctx)
	}
}

// Identify returns the identity for the values of the Authorization header. Errors:
// schemas.ErrUnauthenticated for an invalid credential, schemas.ErrUnavailable while
// it cannot be verified, schemas.ErrForbidden for one without a valid role or tenant.
func (a *Authenticator) Identify(ctx context.Context, authorization []string) (*schemas.Identity, error) {
	if a == nil {
		return nil, nil
	}
	token, err := bearer(authorization)
	if err != nil {
		return nil, err
	}
	if keys.IsKey(token) && a.ring != nil {
		identity, err := a.ring.Identify(ctx, token)
		if errors.Is(err, keys.ErrUnknown) {
			return nil, schemas.ErrUnauthenticated.Because(err.Error())
		}
		return identity, err
	}
	err = schemas.ErrUnauthenticated.Because("the token matches no configured authentication method")
	for _, v := range a.verifiers {
		if !v.hasIssuer(token) {
			continue
		}
		var identity *schemas.Identity
		if identity, err = v.identify(ctx, token); err == nil {
			return identity, nil
		}
	}
	return nil, err
}

// Issuers returns the OpenID providers whose tokens are accepted.
func (a *Authenticator) Issuers() (list []string) {
	if a == nil {
		return nil
	}
	for _, v := range a.verifiers {
		list = append(list, v.Issuer)
	}
	return list
}

// Allow counts a request of the credential. When the credential exceeds its rate, Allow
// returns schemas.ErrTooManyRequests and the time until the next request is accepted.
func (a *Authenticator) Allow(identity *schemas.Identity) (time.Duration, error) {
	if identity == nil || a.limits.Rate <= 0 {
		return 0, nil
	}
	wait := a.rates.Take(identity.ID)
	if wait == 0 {
		return 0, nil
	}
	return wait, schemas.ErrTooManyRequests.Because("the credential exceeds its request rate limit")
}

// Enter counts an open stream of the credential, if there is one; leave must be called when the stream
// ends. It returns schemas.ErrTooManyRequests when the credential has too many open streams.
func (a *Authenticator) Enter(identity *schemas.Identity) (leave func(), err error) {
	if identity == nil {
		return func() {}, nil
	}
	leave, ok := a.streams.Acquire(identity.ID)
	if !ok {
		return nil, schemas.ErrTooManyRequests.Because("the credential has reached its limit of open streams")
	}
	return leave, nil
}

// bearer returns the token of the header (RFC 6750, 2.1).
func bearer(authorization []string) (string, error) {
	if len(authorization) == 0 {
		return "", schemas.ErrUnauthenticated.Because(
			"expected the header Authorization: Bearer TOKEN, with an API key or an OpenID token")
	}
	scheme, token, ok := strings.Cut(authorization[0], " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || len(authorization) > 1 {
		return "", schemas.ErrUnauthenticated.Because("expected one header Authorization, of the form Bearer TOKEN")
	}
	return token, nil
}
