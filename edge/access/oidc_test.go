package access_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"

	"cairn/edge/access"
	"cairn/schemas"
	"cairn/test/wait"
)

// issuer is an OpenID provider.
type issuer struct {
	*httptest.Server

	mu      sync.Mutex
	key     *ecdsa.PrivateKey
	id      string // of the key
	jwks    string // overrides the URL of its keys
	down    bool
	hang    chan struct{} // not nil: discovery hangs; closed when a request for it arrives
	fetches int           // of its keys
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{}
	i.rotate(t, "first")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		hang := i.hang
		i.mu.Unlock()
		if hang != nil {
			close(hang)
			<-r.Context().Done()
			return
		}
		i.respond(w, map[string]any{"issuer": i.URL, "jwks_uri": cmp.Or(i.jwks, i.URL+"/keys")})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		i.fetches++
		set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.id, Algorithm: "ES256", Use: "sig"}}}
		i.mu.Unlock()
		i.respond(w, set)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) respond(w http.ResponseWriter, v any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	body, _ := json.Marshal(v) // an error fails the test later
	_, _ = w.Write(body)
}

// rotate replaces the signing key of the issuer.
func (i *issuer) rotate(t testing.TB, id string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.id = key, id
}

func (i *issuer) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *issuer) setHang(hang chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hang = hang
}

// token returns a token with default claims that are overridden by claims.
func (i *issuer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	all := map[string]any{"iss": i.URL, "aud": "cairn", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(),
		"role":   "reader",
		"tenant": "acme"}
	for name, value := range claims {
		all[name] = value
	}
	payload, err := json.Marshal(all)
	must(t, err)
	return i.sign(t, payload)
}

// authenticatorFor returns an Authenticator that accepts tokens of the issuer.
func authenticatorFor(t *testing.T, i *issuer, change ...func(*access.Config)) *access.Authenticator {
	t.Helper()
	c, err := access.Parse([]string{"oidc=" + i.URL + ",cairn"})
	must(t, err)
	c.Claims = access.Claims{Tenant: "tenant", Role: "role"}
	for _, change := range change {
		change(&c)
	}
	return access.Open(c, nil, slog.New(slog.DiscardHandler))
}

func TestTokens(t *testing.T) {
	t.Parallel()
	i, stranger := newIssuer(t), newIssuer(t)
	authenticator := authenticatorFor(t, i)
	forged := stranger.token(t, map[string]any{"iss": i.URL})
	for _, c := range []struct {
		name    string
		token   string
		role    schemas.Role
		tenants []string
		err     error
	}{
		{"valid token", i.token(t, nil), schemas.RoleReader, []string{"acme"}, nil},
		{"several tenants and roles, some unknown", i.token(t,
			map[string]any{"tenant": []string{"acme", "globex"}, "role": []string{"analyst", "reader", "barista"}}),
			schemas.RoleAnalyst,
			[]string{"acme", "globex"}, nil},
		{"all tenants", i.token(t, map[string]any{"tenant": "*", "role": "admin"}), schemas.RoleAdmin, nil, nil},
		{"several audiences", i.token(t, map[string]any{"aud": []string{"other", "cairn"}}), schemas.RoleReader,
			[]string{"acme"}, nil},
		{"other audience", i.token(t, map[string]any{"aud": "other"}), "", nil, schemas.ErrUnauthenticated},
		{"expired", i.token(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "", nil,
			schemas.ErrUnauthenticated},
		{"not valid yet", i.token(t, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "", nil,
			schemas.ErrUnauthenticated},
		{"other issuer", stranger.token(t, nil), "", nil, schemas.ErrUnauthenticated},
		{"signed by another issuer", forged, "", nil, schemas.ErrUnauthenticated},
		{"modified", i.token(t, nil) + "x", "", nil, schemas.ErrUnauthenticated},
		{"unsigned", "eyJhbGciOiJub25lIn0." + "e30" + ".", "", nil, schemas.ErrUnauthenticated},
		{"without a tenant", i.token(t, map[string]any{"tenant": nil}), "", nil, schemas.ErrForbidden},
		{"with an empty tenant", i.token(t, map[string]any{"tenant": ""}), "", nil, schemas.ErrForbidden},
		{"tenant claim is a number", i.token(t, map[string]any{"tenant": 7}), "", nil, schemas.ErrForbidden},
		{"reserved id of the global scope", i.token(t, map[string]any{"tenant": schemas.GlobalTenant}), "", nil,
			schemas.ErrForbidden},
		{"tenant id too long", i.token(t, map[string]any{"tenant": strings.Repeat("t", 6000)}), "", nil,
			schemas.ErrForbidden},
		{"without a subject", i.token(t, map[string]any{"sub": nil}), "", nil, schemas.ErrUnauthenticated},
		{"with an empty subject", i.token(t, map[string]any{"sub": ""}), "", nil, schemas.ErrUnauthenticated},
		{"without a role", i.token(t, map[string]any{"role": []string{"barista"}}), "", nil, schemas.ErrForbidden},
	} {
		identity, err := authenticator.Identify(t.Context(), []string{"Bearer " + c.token})
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.err)
		} else if err == nil && (identity.Role != c.role || !slices.Equal(identity.Tenants, c.tenants) ||
			identity.ID != i.URL+"#ann") {
			t.Errorf("%s: got %+v, want %s of %v", c.name, identity, c.role, c.tenants)
		}
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	authenticator := authenticatorFor(t, i, func(c *access.Config) { c.SetRefreshInterval(100 * time.Millisecond) })
	accepted := func(token string) error {
		_, err := authenticator.Identify(t.Context(), []string{"bearer " + token})
		return err
	}
	must(t, accepted(i.token(t, nil)))
	old := i.token(t, map[string]any{"sub": "bob"})
	i.rotate(t, "second")
	token := i.token(t, nil)
	wait.Until(t, "the new key is accepted", func() bool { return accepted(token) == nil })
	if err := accepted(old); !errors.Is(err, schemas.ErrUnauthenticated) {
		t.Errorf("signed with the old key: %v, want %v", err, schemas.ErrUnauthenticated)
	}
}

// TestForgedTokens checks that forged tokens cause few fetches of the issuer's keys
// and do not block valid tokens.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	i, forger := newIssuer(t), newIssuer(t)
	authenticator := authenticatorFor(t, i)
	began := time.Now()
	for n := range 100 {
		forger.rotate(t, fmt.Sprint("key ", n))
		if n%2 == 0 {
			forger.rotate(t, "first") // the key id of the issuer
		}
		forged := forger.token(t, map[string]any{"iss": i.URL})
		if identity, err := authenticator.Identify(t.Context(), []string{"Bearer " + forged}); !errors.Is(err,
			schemas.ErrUnauthenticated) {
			t.Fatalf("forged: %v, %v, want %v", identity, err, schemas.ErrUnauthenticated)
		}
		if _, err := authenticator.Identify(t.Context(),
			[]string{"Bearer " + i.token(t, map[string]any{"sub": fmt.Sprint(n)})}); err != nil {
			t.Fatalf("valid token in between: %v", err)
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if limit := 1 + int(time.Since(began)/time.Second); i.fetches > limit {
		t.Errorf("keys fetched %d times, want at most %d", i.fetches, limit)
	}
}

// TestRevokedSigningKey checks that a revoked key is rejected even before a token is
// signed with its successor.
func TestRevokedSigningKey(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	authenticator := authenticatorFor(t, i, func(c *access.Config) { c.SetRefreshInterval(time.Nanosecond) })
	first, second := i.token(t, nil), i.token(t, map[string]any{"sub": "bob"})
	if _, err := authenticator.Identify(t.Context(), []string{"Bearer " + first}); err != nil {
		t.Fatal(err)
	}
	i.rotate(t, "second")
	if _, err := authenticator.Identify(t.Context(), []string{"Bearer " + second}); !errors.Is(err,
		schemas.ErrUnauthenticated) {
		t.Errorf("signed with the revoked key: %v, want %v", err, schemas.ErrUnauthenticated)
	}
}

func TestUnavailableIssuer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	authenticator := authenticatorFor(t, i)
	i.setDown(true)
	token := []string{"Bearer " + i.token(t, nil)}
	if _, err := authenticator.Identify(t.Context(), token); !errors.Is(err, schemas.ErrUnavailable) {
		t.Fatalf("got %v, want %v", err, schemas.ErrUnavailable)
	}
	i.setDown(false)
	wait.Until(t, "the provider has recovered", func() bool {
		_, err := authenticator.Identify(t.Context(), token)
		return err == nil
	})
	i.setDown(true)
	if _, err := authenticator.Identify(t.Context(), token); err != nil {
		t.Errorf("cached token: %v", err)
	}
	i.rotate(t, "second")
	token = []string{"Bearer " + i.token(t, nil)}
	wait.Until(t, "a key cannot be fetched", func() bool { // go-oidc may still be at the end of the previous fetch
		_, err := authenticator.Identify(t.Context(), token)
		return errors.Is(err, schemas.ErrUnavailable)
	})
}

// TestHangingIssuer checks that a provider that does not answer delays only the caller that
// performs discovery.
func TestHangingIssuer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	authenticator := authenticatorFor(t, i, func(c *access.Config) { c.SetRefreshInterval(time.Nanosecond) })
	identify := func(token string) {
		if _, err := authenticator.Identify(t.Context(), []string{"Bearer " + token}); err != nil {
			t.Error(err)
		}
	}
	identify(i.token(t, nil))
	var tokens []string
	for n := range 20 {
		tokens = append(tokens, i.token(t, map[string]any{"sub": fmt.Sprint(n)}))
	}
	hang := make(chan struct{})
	i.setHang(hang)
	discovered := make(chan struct{})
	go func() {
		defer close(discovered)
		identify(tokens[0])
	}()
	<-hang
	for _, token := range tokens[1:] {
		identify(token)
	}
	select {
	case <-discovered:
		t.Error("verifications waited for the discovery")
	default:
	}
	i.setHang(nil)
	i.CloseClientConnections()
	<-discovered
}

// TestKeysOverPlainHTTP uses an issuer whose discovery document has a plain http
// jwks_uri, where an attacker on the network path could replace the keys.
func TestKeysOverPlainHTTP(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.jwks = "http://keys.example/keys"
	if _, err := authenticatorFor(t, i).Identify(t.Context(), []string{"Bearer " + i.token(t, nil)}); !errors.Is(err,
		schemas.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
	}
}
