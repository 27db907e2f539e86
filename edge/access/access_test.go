package access_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"cairn/bus/bustest"
	"cairn/edge/access"
	"cairn/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		on  bool
		bad string
	}{
		"":                                       {false, ""},
		"off":                                    {false, ""},
		"keys":                                   {true, ""},
		"oidc=https://id,cairn":                  {true, ""},
		"keys oidc=https://a,b oidc=https://c,d": {true, ""},
		"oidc=http://127.0.0.1:5556/dex,b":       {true, ""},
		"oidc=http://[::1]/dex,b":                {true, ""},
		"oidc=http://localhost/dex,b":            {true, ""},
		"oidc=http://id.example,b":               {false, "expected an https URL"},
		"oidc=http://127.0.0.1.id.example,b":     {false, "expected an https URL"},
		"oidc=http://10.0.0.1,b":                 {false, "expected an https URL"},
		"oidc=id.example,b":                      {false, "expected an https URL"},
		"off keys":                               {false, "off alone"},
		"oidc=https://id":                        {false, `"oidc=https://id"`},
		"oidc=,x":                                {false, "oidc=ISSUER,AUDIENCE"},
		"key":                                    {false, `"key"`},
	} {
		c, err := access.Parse(strings.Fields(text))
		failed := err != nil && strings.Contains(err.Error(), want.bad)
		if want.bad == "" && (err != nil || c.Enabled() != want.on) || want.bad != "" && !failed {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	authenticator := access.Open(access.Config{Keys: true}, bustest.Open(t), slog.New(slog.DiscardHandler))
	for _, header := range [][]string{nil, {""}, {"Bearer"}, {"Bearer "}, {"Basic YTpi"}, {"Bearer a", "Bearer b"},
		{"Bearer cairn_"},
		{"Bearer cairn_a_b"}, {"Bearer x.y.z"}} {
		if _, err := authenticator.Identify(t.Context(), header); !errors.Is(err, schemas.ErrUnauthenticated) {
			t.Errorf("%q: got %v, want %v", header, err, schemas.ErrUnauthenticated)
		}
	}
	var none *access.Authenticator
	if identity, err := none.Identify(t.Context(), nil); identity != nil || err != nil {
		t.Errorf("without an Authenticator: %v, %v", identity, err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	authenticator := access.Open(access.Config{Keys: true, Limits: access.Limits{Rate: 0.001, Streams: 2}},
		bustest.Open(t),
		slog.New(slog.DiscardHandler))
	ann, bob := &schemas.Identity{ID: "ann"}, &schemas.Identity{ID: "bob"}
	if _, err := authenticator.Allow(ann); err != nil {
		t.Errorf("first request: %v", err)
	}
	for range 2 {
		if wait, err := authenticator.Allow(ann); !errors.Is(err, schemas.ErrTooManyRequests) || wait.Seconds() < 900 {
			t.Errorf("second request: %v, %v, want %v for some 1,000 s", wait, err, schemas.ErrTooManyRequests)
		}
	}
	if _, err := authenticator.Allow(bob); err != nil {
		t.Errorf("other credential: %v", err)
	}
	leave, err := authenticator.Enter(ann)
	_, err2 := authenticator.Enter(ann)
	if _, err3 := authenticator.Enter(ann); err != nil || err2 != nil || !errors.Is(err3, schemas.ErrTooManyRequests) {
		t.Errorf("three streams: %v, %v, %v", err, err2, err3)
	}
	leave()
	if _, err := authenticator.Enter(ann); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

// must fails the test on an error of its setup.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
