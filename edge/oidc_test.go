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
		got := f.ask(t, http.MethodGet, "/skills", nil, "Authorization: Bearer "+token, "X-Request-Id: first")
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "OpenID") || strings.Contains(got.body, away) ||
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
	if len(lines) == 0 || len(lines) > 4 || !strings.Contains(lines[0], "request_id=first") || !strings.Contains(lines[0], away) {
		t.Errorf("logged: %q, want the cause at a limited rate", lines)
	}
}
