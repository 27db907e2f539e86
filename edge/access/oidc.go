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
	// providerTime bounds a question to a provider.
	providerTime = 5 * time.Second
	// pause is how long a provider that did not answer is left alone, and one that
	// did with its keys: a new one is known that much later at most.
	pause = 2 * time.Second
	// trust is how long a token that was verified is taken without another look
	// at the provider's keys.
	trust = time.Minute
	// tokens is how many verified tokens are remembered.
	tokens = 1 << 14
)

// Provider is an OpenID provider whose tokens are taken, when they are for the audience.
type Provider struct{ Issuer, Audience string }

// Claims are the names of what a token says.
type Claims struct {
	Tenant string // a tenant or several; "*": all
	Role   string // a role or several, of which the most powerful counts
}

// asymmetric are the ways to sign that are taken: a provider's announcement is of
// its ID tokens alone, and an access token may be signed otherwise.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// allTenants in a claim stands for every tenant.
const allTenants = "*"

// verifier knows the tokens of one provider. Its keys are fetched when one is
// needed that is not known, so that they may be rotated, and anew after a while,
// so that one that was withdrawn is trusted no more (go-oidc keeps it).
type verifier struct {
	Provider
	claims Claims
	client *http.Client
	keys   *http.Client // fetches them, sparingly
	fresh  time.Duration
	log    *slog.Logger
	known  *lru.Cache[[sha256.Size]byte, verified]

	mu     sync.Mutex
	oidc   *oidc.IDTokenVerifier // nil: the provider has not answered yet
	asked  time.Time             // when it did
	failed time.Time
	err    error     // then
	logged time.Time // when it was, last, that it does not answer
}

type verified struct {
	by    *schemas.Identity
	until time.Time
}

func newVerifier(p Provider, c Claims, fresh time.Duration, log *slog.Logger) *verifier {
	known, _ := lru.New[[sha256.Size]byte, verified](tokens) // fails for a size below 1
	client := &http.Client{Timeout: providerTime}
	keys := &http.Client{Transport: &sparing{client: client, every: min(pause, fresh)}}
	return &verifier{Provider: p, claims: c, client: client, keys: keys, fresh: fresh, log: log, known: known}
}

// mayHave reports whether the token says that it is of the provider; whether
// that is true is found out later.
func (v *verifier) mayHave(token string) bool {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, three := strings.Cut(rest, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(payload)
	var said struct {
		Issuer string `json:"iss"`
	}
	return three && err == nil && json.Unmarshal(decoded, &said) == nil && said.Issuer == v.Issuer
}

func (v *verifier) identify(ctx context.Context, token string) (*schemas.Identity, error) {
	sum := sha256.Sum256([]byte(token))
	if known, ok := v.known.Get(sum); ok && time.Now().Before(known.until) {
		return known.by, nil
	}
	provider, err := v.provider(ctx)
	if err != nil {
		return nil, v.away(ctx, err)
	}
	checked, err := provider.Verify(oidc.ClientContext(ctx, v.client), token)
	if err != nil && strings.Contains(err.Error(), "fetching keys") { // go-oidc (verify.go) says it in words alone
		return nil, v.away(ctx, err)
	}
	if err != nil {
		return nil, schemas.ErrUnauthenticated.Because("the token is not valid: " + err.Error())
	}
	var said map[string]jsontext.Value
	if err := checked.Claims(&said); err != nil {
		return nil, schemas.ErrUnauthenticated.Because("the token is not valid: " + err.Error())
	}
	if checked.Subject == "" { // go-oidc does not require it
		return nil, schemas.ErrUnauthenticated.Because("the token is not valid: it has no sub")
	}
	by, err := v.claims.identity(checked.Issuer+"#"+checked.Subject, said)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(trust)
	if checked.Expiry.Before(until) {
		until = checked.Expiry
	}
	v.known.Add(sum, verified{by, until})
	return by, nil
}

// away is what a caller is told of a provider that cannot be asked. Why, which
// names addresses that are no caller's business, is in the log, once a pause.
func (v *verifier) away(ctx context.Context, err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() == nil && time.Since(v.logged) >= pause {
		v.logged = time.Now()
		v.log.WarnContext(ctx, "the OpenID provider cannot be asked", "issuer", v.Issuer, "err", err)
	}
	return schemas.ErrUnavailable.Because("the OpenID provider cannot be asked")
}

// provider is what knows the provider's keys, once it has answered.
func (v *verifier) provider(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.oidc != nil && (time.Since(v.asked) < v.fresh || time.Since(v.failed) < pause) {
		return v.oidc, nil
	}
	if time.Since(v.failed) < pause {
		return nil, v.err
	}
	// What is found lasts longer than the request: it keeps this client, not ctx.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), v.client), v.Issuer)
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err == nil {
		if err = found.Claims(&document); err == nil {
			err = encrypted(document.Keys)
		}
	}
	if err != nil {
		if v.failed, v.err = time.Now(), err; v.oidc != nil { // as it was, until it answers
			return v.oidc, nil
		}
		return nil, err
	}
	v.asked = time.Now()
	v.oidc = found.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), v.keys), &oidc.Config{ClientID: v.Audience, SupportedSigningAlgs: asymmetric})
	return v.oidc, nil
}

// identity is who the claims speak of.
func (c Claims) identity(id string, said map[string]jsontext.Value) (*schemas.Identity, error) {
	by := &schemas.Identity{ID: id}
	roles, err := texts(said[c.Role])
	for _, role := range schemas.Roles() { // the most powerful is the last
		if slices.Contains(roles, string(role)) {
			by.Role = role
		}
	}
	if err != nil || by.Role == "" {
		return nil, schemas.ErrForbidden.Because(fmt.Sprintf("the token's claim %q has none of the roles %v", c.Role, schemas.Roles()))
	}
	by.Tenants, err = texts(said[c.Tenant])
	if err != nil || len(by.Tenants) == 0 || slices.Contains(by.Tenants, "") {
		return nil, schemas.ErrForbidden.Because(fmt.Sprintf("the token's claim %q names no tenant", c.Tenant))
	}
	if slices.Contains(by.Tenants, allTenants) {
		by.Tenants = nil
	}
	if err := by.Validate(); err != nil { // what names no tenant elsewhere, does not here
		return nil, schemas.ErrForbidden.Because(fmt.Sprintf("the token's claim %q names what is no tenant", c.Tenant))
	}
	return by, nil
}

// texts is a claim that is a text or a list of them; absent: none.
func texts(claim jsontext.Value) ([]string, error) {
	var one string
	var list []string
	switch claim.Kind() {
	case jsontext.KindInvalid:
		return nil, nil
	case jsontext.KindString:
		err := json.Unmarshal(claim, &one)
		return []string{one}, err
	case jsontext.KindBeginArray:
		err := json.Unmarshal(claim, &list)
		return list, err
	default:
		return nil, errors.New("want a text, or a list of them")
	}
}
