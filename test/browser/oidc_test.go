package browser

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"cairn/test/cairntest"
)

// issuer is an OpenID provider.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	respond := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // an error fails the test later
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "ES256",
			Use: "sig"}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// token returns a token of the role for the tenant acme, which expires at the time.
func (i *issuer) token(t *testing.T, role string, expires time.Time) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: "1"}},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": i.URL, "aud": "cairn", "sub": "ann-" + role, "exp": expires.Unix(), "role": role, "tenant": "acme",
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// testToken signs in with a token of an OpenID provider.
func testToken(t *testing.T, s *suite) {
	i := newIssuer(t)
	server := cairntest.Up(t, "--data", "", "--model", "offline:", "--auth", "oidc="+i.URL+",cairn")
	p := openPage(t, s, server.URL(), "#/register/template")
	p.waitText("h1", "Sign in")
	p.signIn(i.token(t, "registrar", time.Now().Add(-time.Hour)))
	p.waitText("#credential-error", "not valid")
	p.signIn(i.token(t, "registrar", time.Now().Add(time.Hour)))
	p.waitText(".session", "registrar", "acme")
	p.fill("#field-template_id", "oidc.made")
	p.fill("#field-body", "text")
	p.click("Register")
	p.waitText(".badge", "acme")
	p.eval("location.reload()", nil)
	p.waitText("h1", "oidc.made")
	p.open("#/ask")
	p.waitText(".notice", "does not permit analyses")
	p.click("Sign out")
	p.waitText("h1", "Sign in")
	p.wait("sessionStorage.length === 0")
}
