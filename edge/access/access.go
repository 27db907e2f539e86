// Package access finds out who asks an edge: by an API key, or by a token of an
// OpenID provider. It also bounds how much a credential may ask.
package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"cairn/bus"
	"cairn/bus/keys"
	"cairn/schemas"
)

// Config says who is let in.
type Config struct {
	// Keys lets in who has an API key.
	Keys bool
	// OIDC are the providers whose tokens are taken.
	OIDC   []Provider
	Claims Claims
	Limits Limits
	// Fresh is how long a provider's signing keys are trusted before they are asked
	// for again; 0: a minute.
	Fresh time.Duration
}

// Parse is the config for the modes: "off" alone, or "keys" and
// "oidc=ISSUER,AUDIENCE" in any number.
func Parse(modes []string) (Config, error) {
	var c Config
	if len(modes) > 1 && slices.Contains(modes, "off") {
		return c, errors.New("want off alone, or the ways to be known")
	}
	for _, mode := range modes {
		provider, isOIDC := strings.CutPrefix(mode, "oidc=")
		issuer, audience, both := strings.Cut(provider, ",")
		switch {
		case mode == "off":
		case mode == "keys":
			c.Keys = true
		case isOIDC && both && issuer != "" && audience != "":
			if err := encrypted(issuer); err != nil {
				return c, err
			}
			c.OIDC = append(c.OIDC, Provider{issuer, audience})
		default:
			return c, fmt.Errorf("want off, keys or oidc=ISSUER,AUDIENCE, got %q", mode)
		}
	}
	return c, nil
}

// encrypted returns an error for a URL of a provider that is plain HTTP to another
// machine: an attacker between could replace the provider's keys.
func encrypted(provider string) error {
	u, err := url.Parse(provider)
	if err != nil {
		return fmt.Errorf("OpenID provider: %w", err)
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && local {
		return nil
	}
	return fmt.Errorf("OpenID provider: want an https URL, or http on loopback, got %q", provider)
}

// On reports whether callers are asked who they are.
func (c Config) On() bool { return c.Keys || len(c.OIDC) > 0 }

// Gate lets callers in. It may be used concurrently. A nil one lets in
// everybody, as nobody in particular.
type Gate struct {
	ring      *keys.Ring
	verifiers []*verifier
	*limiter
}

// Open is a gate as c says; nil when it is off. Run keeps it up to date.
func Open(c Config, conn *bus.Conn, log *slog.Logger) *Gate {
	if !c.On() {
		return nil
	}
	g := &Gate{limiter: newLimiter(c.Limits)}
	if c.Keys {
		g.ring = keys.NewRing(conn, log)
	}
	for _, p := range c.OIDC {
		g.verifiers = append(g.verifiers, newVerifier(p, c.Claims, cmp.Or(c.Fresh, trust), log))
	}
	return g
}

// Run follows the changes of keys until ctx ends.
func (g *Gate) Run(ctx context.Context) {
	if g != nil && g.ring != nil {
		g.ring.Run(ctx)
	}
}

// Identify is who comes with the values of the header Authorization. The error
// is schemas.ErrUnauthenticated, or schemas.ErrUnavailable while that cannot be
// found out; schemas.ErrForbidden: who it is is known, but not what it may do.
func (g *Gate) Identify(ctx context.Context, authorization []string) (*schemas.Identity, error) {
	if g == nil {
		return nil, nil
	}
	token, err := bearer(authorization)
	if err != nil {
		return nil, err
	}
	if keys.IsKey(token) && g.ring != nil {
		by, err := g.ring.Identify(ctx, token)
		if errors.Is(err, keys.ErrUnknown) {
			return nil, schemas.ErrUnauthenticated.Because(err.Error())
		}
		return by, err
	}
	err = schemas.ErrUnauthenticated.Because("the token is of nobody who is trusted here")
	for _, v := range g.verifiers {
		if !v.mayHave(token) {
			continue
		}
		var by *schemas.Identity
		if by, err = v.identify(ctx, token); err == nil {
			return by, nil
		}
	}
	return nil, err
}

// bearer is the token of the header (RFC 6750, 2.1).
func bearer(authorization []string) (string, error) {
	if len(authorization) == 0 {
		return "", schemas.ErrUnauthenticated.Because("want the header Authorization: Bearer, with a key or a token")
	}
	scheme, token, ok := strings.Cut(authorization[0], " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || len(authorization) > 1 {
		return "", schemas.ErrUnauthenticated.Because("want one header Authorization, of the form Bearer TOKEN")
	}
	return token, nil
}
