package edge_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn/edge"
	"cairn/edge/access"
)

func TestHost(t *testing.T) {
	t.Parallel()
	names := func(c *edge.Config) { c.Hosts = []string{"cairn.example", "Edge.Cairn.svc."} }
	keys := func(c *edge.Config) { c.Access = access.Config{Keys: true} }
	accepted := []string{
		"localhost", "localhost:8080", "LOCALHOST", "localhost.", "127.0.0.1:8080", "10.1.2.3", "[::1]:8080", "[::1]",
		"[::ffff:127.0.0.1]:80",
		"cairn.example", "CAIRN.example:443", "cairn.example.", "edge.cairn.svc:80",
	}
	refused := []string{
		"evil.example", "evil.example:8080", "127.0.0.1.evil.example:8080", "localhost.evil.example",
		"cairn.example.evil.example",
		"evil-cairn.example", "xlocalhost", "cairn", "[evil.example]", "127.0.0.1x",
	}
	for name, f := range map[string]*testEdge{"without authentication": open(t, names),
		"with authentication": open(t, names, keys)} {
		for _, host := range append(accepted, refused...) {
			for _, path := range []string{"/health/live", "/skills", "/metrics", "/unknown"} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+path, nil)
				must(t, err)
				req.Host = host
				res, err := f.client.Do(req)
				must(t, err)
				body, err := io.ReadAll(res.Body)
				must(t, err, res.Body.Close())
				want := slices.Contains(refused, host)
				if got := res.StatusCode == http.StatusMisdirectedRequest; got != want {
					t.Errorf("%s, Host %s, %s: %d, want 421: %v", name, host, path, res.StatusCode, want)
				}
				if want && (!strings.Contains(string(body), `"CE-009"`) || !strings.Contains(string(body), "--http-host")) {
					t.Errorf("%s, Host %s: %s, want CE-009 with the name of the flag", name, host, body)
				}
			}
		}
	}
}

// TestMalformedHost sends headers that net/http's client does not. HTTP/1.0 permits
// requests without a Host, such as those of load balancers.
func TestMalformedHost(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.Hosts = []string{"", "."} })
	for header, want := range map[string]string{
		"HTTP/1.0\r\n": "HTTP/1.0 200", "HTTP/1.0\r\nHost:\r\n": "HTTP/1.0 200",
		"HTTP/1.0\r\nHost: evil.example\r\n": "HTTP/1.0 421",
		"HTTP/1.1\r\nHost:\r\n":              "HTTP/1.1 421", "HTTP/1.1\r\nHost: [::1]:80\r\n": "HTTP/1.1 200",
	} {
		f.host(t, "GET /health/live", header, want)
	}
	for _, host := range []string{
		"[::1].evil.example", "[::1]evil.example", "[127.0.0.1]evil.example:80", "[].evil.example", ":evil.example", "[", "]",
		"[]", ":80",
		"::1", ":", "[::1", "[::1]:evil", "localhost:evil", "localhost:80:80",
		"[fe80::1%evil.example]", "[fe80::1%25evil.example]", "fe80::1%evil.example", "[fe80::1%25eth0]:80", "%6cocalhost",
	} {
		f.host(t, "GET /health/live", "HTTP/1.1\r\nHost: "+host+"\r\n", "HTTP/1.1 421")
	}
	f.host(t, "OPTIONS *", "HTTP/1.1\r\nHost: evil.example\r\n", "HTTP/1.1 421")
	f.host(t, "OPTIONS *", "HTTP/1.1\r\nHost: localhost\r\n", "HTTP/1.1 404")
}

// host sends the request with the version and Host header, and wants the status line to
// begin with want.
func (f *testEdge) host(t *testing.T, request, header, want string) {
	t.Helper()
	conn := f.dial(t)
	_, err := io.WriteString(conn, request+" "+header+"Connection: close\r\n\r\n")
	must(t, err)
	answer, err := io.ReadAll(conn)
	must(t, err)
	if !strings.HasPrefix(string(answer), want) {
		t.Errorf("%q: answer %q, want %s", header, answer, want)
	}
}
