package edge_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"cairn/bus/bustest"
	"cairn/edge"
	"cairn/edge/access"
)

// TestUnavailableProvider checks that the address of the provider is logged and not
// returned to callers.
func TestUnavailableProvider(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	away := bustest.FreeAddress(t)
	f := open(t, func(c *edge.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Access = access.Config{OIDC: []access.Provider{{Issuer: "http://" + away, Audience: "cairn"}}}
	})
	token := "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"iss":"http://%s"}`, away)) + "."
	for range 9 {
		got := f.request(t, http.MethodGet, "/skills", nil, "Authorization: Bearer "+token, "X-Request-Id: first")
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "OpenID") ||
			strings.Contains(got.body, away) ||
			strings.Contains(got.body, "dial") {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
	var lines []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "connection refused") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 || len(lines) > 4 || !strings.Contains(lines[0], "request_id=first") ||
		!strings.Contains(lines[0], away) {
		t.Errorf("logged: %q, want the cause at a limited rate", lines)
	}
}

// TestProtectedResourceMetadata follows the challenge of /mcp to the OpenID provider.
func TestProtectedResourceMetadata(t *testing.T) {
	t.Parallel()
	issuer := "http://" + bustest.FreeAddress(t)
	f := open(t, func(c *edge.Config) {
		c.Access = access.Config{Keys: true, OIDC: []access.Provider{{Issuer: issuer, Audience: "cairn"}}}
		c.Hosts = []string{"cairn.example.com"}
	})
	for _, row := range []struct {
		headers []string
		base    string
	}{
		{nil, f.url},
		{[]string{"X-Forwarded-Proto: https"}, strings.Replace(f.url, "http:", "https:", 1)},
	} {
		refused := f.request(t, http.MethodPost, "/mcp", strings.NewReader("{}"), row.headers...)
		metadata := row.base + "/.well-known/oauth-protected-resource/mcp"
		got, want := refused.header.Get("WWW-Authenticate"), `Bearer realm="cairn", resource_metadata="`+metadata+`"`
		if refused.status != 401 || got != want {
			t.Errorf("%d %s, want %s", refused.status, got, want)
		}
		for path, resource := range map[string]string{"/mcp": row.base + "/mcp", "": row.base} {
			got := f.request(t, http.MethodGet, "/.well-known/oauth-protected-resource"+path, nil, row.headers...)
			want := fmt.Sprintf(`{"resource":%q,"resource_name":"Cairn","authorization_servers":[%q],"bearer_methods_supported":["header"]}`, resource, issuer)
			if got.status != 200 || got.body != want {
				t.Errorf("%s: %d %s, want %s", path, got.status, got.body, want)
			}
		}
	}
	if got := f.request(t, http.MethodGet, "/skills", nil).header.Get("WWW-Authenticate"); got != `Bearer realm="cairn"` {
		t.Errorf("another route: %s", got)
	}
	keys := open(t, func(c *edge.Config) { c.Access = access.Config{Keys: true} })
	got := keys.request(t, http.MethodGet, "/.well-known/oauth-protected-resource", nil)
	if got.status != 404 || got.problem(t).Code != "CE-004" {
		t.Errorf("without a provider: %d %s", got.status, got.body)
	}
}
