package security

import (
	"net/http"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

// TestDNSRebinding sends the requests of a page whose own DNS name resolves to
// Cairn's address: for the browser they are same-origin, and a GET of Firefox
// carries neither Origin nor Sec-Fetch-Site.
func TestDNSRebinding(t *testing.T) {
	t.Parallel()
	agents := []string{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "", "curl/8.5.0"}
	for name, flags := range map[string][]string{
		"without authentication": nil,
		"with --insecure":        {"--insecure"},
		"with authentication":    {"--auth", "keys"},
		"with a name":            {"--http-host", "cairn.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := cairntest.Up(t, append([]string{"--metrics", "127.0.0.1:0"}, flags...)...)
			monitor := monitorAddress(t, p)
			for _, agent := range agents {
				for _, url := range []string{p.URL() + "/skills", p.URL() + "/health", p.URL() + "/docs", monitor + "/metrics",
					monitor + "/health/ready"} {
					status, body := get(t, url, "rebound.evil.example", "User-Agent", agent)
					if status != http.StatusMisdirectedRequest || !strings.Contains(body, "CE-009") {
						t.Errorf("%s by %q: %d %s, want 421 CE-009", url, agent, status, body)
					}
				}
			}
			if status, body := get(t, p.URL()+"/health", ""); status != http.StatusOK {
				t.Errorf("by its address: %d %s", status, body)
			}
			if status, body := get(t, p.URL()+"/health", "cairn.example"); (status == http.StatusOK) != (name == "with a name") {
				t.Errorf("by a name: %d %s", status, body)
			}
		})
	}
}

// monitorAddress returns the URL of the --metrics listener, from the log.
func monitorAddress(t *testing.T, p *cairntest.Process) string {
	t.Helper()
	_, after, ok := strings.Cut(p.Stderr.String(), "msg=metrics url=")
	address, _, ok2 := strings.Cut(after, "/metrics")
	if !ok || !ok2 {
		t.Fatalf("no address of metrics in the log:\n%s", p.Stderr)
	}
	return address
}

// get sends a GET to url with another Host, unless it is empty, and headers given
// as name, value.
func get(t *testing.T, url, host string, headers ...string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	req.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, body, err := exchange(http.DefaultClient, req)
	must(t, err)
	return res.StatusCode, body
}
