package access

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	lru "github.com/hashicorp/golang-lru/v2"

	"cairn/schemas"
)

const (
	// providerTimeout bounds a request to a provider.
	providerTimeout = 5 * time.Second
	// retryInterval is the minimum time between two requests to a provider that failed,
	// and between two fetches of its keys: it is also the maximum delay until a new key is
	// accepted.
	retryInterval = 2 * time.Second
	// tokenTTL is the lifetime of a cached token verification.
	tokenTTL = time.Minute
	// maxTokens is the number of verified tokens that are cached.
	maxTokens = 1 << 14
)

// Provider is an OpenID provider; its tokens must be issued for the audience.
type Provider struct{ Issuer, Audience string }

// Claims are the names of the claims that hold tenants and roles.
type Claims struct {
	Tenant string // one tenant id or an array; "*": all tenants
	Role   string // one role or an array; the role with the most permissions applies
}

// signingAlgorithms lists the accepted signature algorithms. A provider's metadata names those
// of its ID tokens; its access tokens may use others.
var signingAlgorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// allTenants is the claim value for all tenants.
const allTenants = "*"

// verifier verifies the tokens of one provider. It fetches the provider's keys when a
// token has an unknown key id, so that keys can be rotated, and after refreshInterval, so that a
// revoked key is no longer trusted (go-oidc keeps it).
type verifier struct {
	Provider
	claims          Claims
	client          *http.Client
	keys            *http.Client // fetches the keys, at a limited rate
	refreshInterval time.Duration
	log             *slog.Logger
	tokens          *lru.Cache[[sha256.Size]byte, verified]

	discovery sync.Mutex // held during discovery, before mu

	mu           sync.Mutex
	oidc         *oidc.IDTokenVerifier // nil until the provider has responded
	discoveredAt time.Time             // the last successful discovery
	failed       time.Time
	err          error     // of the last failed discovery
	logged       time.Time // the last log line about a failure
}

type verified struct {
	identity *schemas.Identity
	until    time.Time
}

func newVerifier(p Provider, c Claims, refreshInterval time.Duration, log *slog.Logger) *verifier {
	tokens, _ := lru.New[[sha256.Size]byte, verified](maxTokens) // fails for a size below 1
	client := &http.Client{Timeout: providerTimeout}
	keys := &http.Client{Transport: &cachingTransport{client: client, interval: min(retryInterval, refreshInterval)}}
	return &verifier{Provider: p, claims: c, client: client, keys: keys, refreshInterval: refreshInterval, log: log,
		tokens: tokens}
}

// hasIssuer reports whether the unverified token names the provider as its issuer.
func (v *verifier) hasIssuer(token string) bool {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, three := strings.Cut(rest, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(payload)
	var claims struct {
		Issuer string `json:"iss"`
	}
	return three && err == nil && json.Unmarshal(decoded, &claims) == nil && claims.Issuer == v.Issuer
}

func (v *verifier) identify(ctx context.Context, token string) (*schemas.Identity, error) {
	sum := sha256.Sum256([]byte(token))
	if cached, ok := v.tokens.Get(sum); ok && time.Now().Before(cached.until) {
		return cached.identity, nil
	}
	provider, err := v.provider(ctx)
	if err != nil {
		return nil, v.unavailable(ctx, err)
	}
	checked, err := provider.Verify(oidc.ClientContext(ctx, v.client), token)
	if err != nil && strings.Contains(err.Error(), "fetching keys") { // go-oidc (verify.go) has no error value for it
		return nil, v.unavailable(ctx, err)
	}
	if err != nil {
		return nil, schemas.ErrUnauthenticated.Because("the token is not valid: " + err.Error())
	}
	var claims map[string]jsontext.Value
	if err := checked.Claims(&claims); err != nil {
		return nil, schemas.ErrUnauthenticated.Because("the token is not valid: " + err.Error())
	}
	if checked.Subject == "" { // go-oidc does not require it
		return nil, schemas.ErrUnauthenticated.Because("the token is not valid: expected the claim sub")
	}
	identity, err := v.claims.identity(checked.Issuer+"#"+checked.Subject, claims)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(tokenTTL)
	if checked.Expiry.Before(until) {
		until = checked.Expiry
	}
	v.tokens.Add(sum, verified{identity, until})
	return identity, nil
}

// unavailable returns the caller's error for a provider that cannot be reached. The
// cause contains internal addresses and is logged instead, once per retryInterval.
func (v *verifier) unavailable(ctx context.Context, err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() == nil && time.Since(v.logged) >= retryInterval {
		v.logged = time.Now()
		v.log.WarnContext(ctx, "OpenID provider unavailable", "issuer", v.Issuer, "err", err)
	}
	return schemas.ErrUnavailable.Because("the OpenID provider is unavailable")
}

// provider returns the provider's verifier. It performs discovery when that is older than
// refreshInterval. Meanwhile other callers use the previous verifier; without one, they wait.
func (v *verifier) provider(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	previous, due, err := v.discovered()
	if !due {
		return previous, err
	}
	if previous == nil {
		v.discovery.Lock()
	} else if !v.discovery.TryLock() {
		return previous, nil
	}
	defer v.discovery.Unlock()
	if previous, due, err = v.discovered(); !due { // another caller performed it meanwhile
		return previous, err
	}
	next, err := v.discover(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		if v.failed, v.err = time.Now(), err; v.oidc != nil { // keep the previous verifier
			return v.oidc, nil
		}
		return nil, err
	}
	v.oidc, v.discoveredAt = next, time.Now()
	return v.oidc, nil
}

// discovered returns the verifier of the last successful discovery, or else the error of the last
// one if that is recent, and whether discovery is due.
func (v *verifier) discovered() (current *oidc.IDTokenVerifier, due bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	failed := time.Since(v.failed) < retryInterval
	if v.oidc == nil && failed {
		return nil, false, v.err
	}
	return v.oidc, !failed && (v.oidc == nil || time.Since(v.discoveredAt) >= v.refreshInterval), nil
}

// discover performs discovery and returns the provider's verifier, which outlives the request. The
// verifier keeps the client, but not ctx.
func (v *verifier) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), v.client), v.Issuer)
	if err != nil {
		return nil, err
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, err
	}
	if err := requireTLS(document.Keys); err != nil {
		return nil, err
	}
	return provider.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), v.keys),
		&oidc.Config{ClientID: v.Audience, SupportedSigningAlgs: signingAlgorithms}), nil
}

// identity returns the identity in the claims.
func (c Claims) identity(id string, claims map[string]jsontext.Value) (*schemas.Identity, error) {
	identity := &schemas.Identity{ID: id, Type: schemas.ActorToken}
	roles, err := texts(claims[c.Role])
	for _, role := range schemas.Roles() { // roles are in ascending order of permissions
		if slices.Contains(roles, string(role)) {
			identity.Role = role
		}
	}
	if err != nil || identity.Role == "" {
		return nil, schemas.ErrForbidden.Because(fmt.Sprintf("the token's claim %q has none of the roles %v", c.Role,
			schemas.Roles()))
	}
	identity.Tenants, err = texts(claims[c.Tenant])
	if err != nil || len(identity.Tenants) == 0 || slices.Contains(identity.Tenants, "") {
		return nil, schemas.ErrForbidden.Because(fmt.Sprintf("the token's claim %q has no tenant id", c.Tenant))
	}
	if slices.Contains(identity.Tenants, allTenants) {
		identity.Tenants = nil
	}
	if err := identity.Validate(); err != nil { // for example the reserved id of the global scope
		return nil, schemas.ErrForbidden.Because(fmt.Sprintf("the token's claim %q has an invalid tenant id", c.Tenant))
	}
	return identity, nil
}

// texts returns the strings of a claim that is a string or an array of strings; none when absent.
func texts(claim jsontext.Value) ([]string, error) {
	var text string
	var list []string
	switch claim.Kind() {
	case jsontext.KindInvalid:
		return nil, nil
	case jsontext.KindString:
		err := json.Unmarshal(claim, &text)
		return []string{text}, err
	case jsontext.KindBeginArray:
		err := json.Unmarshal(claim, &list)
		return list, err
	default:
		return nil, errors.New("expected a string or an array of strings")
	}
}
