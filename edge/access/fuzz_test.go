package access_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/keys"
	"cairn/edge/access"
	"cairn/schemas"
)

// FuzzIdentify uses arbitrary headers, tokens with arbitrary claims, and a key with an
// arbitrary stored record. The identity must match the claims or the record.
func FuzzIdentify(f *testing.F) {
	for _, seed := range [][3]string{
		{"Bearer cairn_a_b", `"role":"reader","tenant":"acme"`, `"role":"reader","tenants":["acme"]`},
		{"bearer  x.y.z", `"role":["reader","admin"],"tenant":["acme","*"]`, `"role":"admin"`},
		{`{"alg":"none"}`, `"role":"admin","tenant":"*"`, `"role":"king","tenants":["_global",""]`},
		{`{"alg":"ES256","kid":"first"}`, `"role":"reader","role":"admin","tenant":[""],"aud":"x"`,
			`"role":"admin","tenants":[null],"expires":"2001-01-01T00:00:00Z"`},
		{`{"alg":"HS256"}`, `"role":{"a":1},"tenant":"_global","exp":"x"`, `"role":"reader","tenants":"acme"`},
		{"Basic \x00", `"`, `"revoked":5`},
	} {
		f.Add(seed[0], []byte(seed[1]), []byte(seed[2]))
	}
	i, conn := newIssuer(f), bustest.Open(f)
	must(f, keys.Setup(f.Context(), conn, bucket.Replication{}))
	c := access.Config{Keys: true, OIDC: []access.Provider{{Issuer: i.URL, Audience: "cairn"}},
		Claims: access.Claims{Tenant: "tenant", Role: "role"}}
	authenticator := access.Open(c, conn, slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, header string, claims, stored []byte) {
		payload := fmt.Appendf(nil, `{"iss":%q,"aud":"cairn","sub":"ann","exp":%d,%s}`, i.URL,
			time.Now().Add(time.Hour).Unix(), claims)
		unsigned := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." +
			base64.RawURLEncoding.EncodeToString(payload) + "."
		for _, text := range []string{header, "Bearer " + header, "Bearer " + unsigned, "Bearer " + unsigned + "AAAA"} {
			if identity, err := authenticator.Identify(t.Context(), []string{text}); !errors.Is(err,
				schemas.ErrUnauthenticated) {
				t.Errorf("%q authenticates as %+v, %v", text, identity, err)
			}
		}
		identity, err := authenticator.Identify(t.Context(), []string{"Bearer " + i.sign(t, payload)})
		check(t, identity, err, payload, "role", "tenant")
		sum := sha256.Sum256([]byte("secret"))
		id := hex.EncodeToString(sum[:4]) + fmt.Sprint(time.Now().UnixNano())
		record := fmt.Appendf(nil, `{"id":%q,"hash":%q,%s}`, id, hex.EncodeToString(sum[:]), stored)
		if _, err := conn.JetStream().Publish(t.Context(), "$KV.cairn_keys."+id, record); err != nil {
			t.Fatal(err)
		}
		identity, err = authenticator.Identify(t.Context(), []string{"Bearer cairn_" + id + "_secret"})
		check(t, identity, err, record, "role", "tenants")
		if err == nil && identity.ID != id {
			t.Errorf("%s is %q", record, identity.ID)
		}
	})
}

// sign returns a token of the issuer with the payload.
func (i *issuer) sign(t *testing.T, payload []byte) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: i.id}},
		nil)
	must(t, err)
	signed, err := signer.Sign(payload)
	must(t, err)
	token, err := signed.CompactSerialize()
	must(t, err)
	return token
}

// check compares the identity with the role and tenants members of text.
func check(t *testing.T, identity *schemas.Identity, err error, text []byte, role, tenants string) {
	t.Helper()
	if err != nil {
		if !errors.Is(err, schemas.ErrUnauthenticated) && !errors.Is(err, schemas.ErrForbidden) {
			t.Errorf("%s: %v", text, err)
		}
		return
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatalf("%s authenticates as %+v", text, identity)
	}
	list, all := listed(claims[tenants]), tenants == "tenants" && claims[tenants] == nil
	if all = all || slices.Contains(list, "*") && tenants == "tenant" || len(list) == 0 && tenants == "tenants"; all {
		list = nil
	}
	if identity.Validate() != nil || !slices.Contains(listed(claims[role]), string(identity.Role)) ||
		identity.Bound() == all ||
		!slices.Equal(identity.Tenants, list) {
		t.Errorf("%s authenticates as %+v", text, identity)
	}
}

// listed returns the strings of a string or of an array.
func listed(claims any) (all []string) {
	if text, ok := claims.(string); ok {
		return []string{text}
	}
	list, _ := claims.([]any) // nil for other types
	for _, each := range list {
		text, _ := each.(string) // "" for null
		all = append(all, text)
	}
	return all
}
