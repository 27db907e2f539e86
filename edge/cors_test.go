package edge_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/edge"
	"cairn/edge/access"
	"cairn/schemas"
)

const (
	allowedOrigin = "https://app.example.com"
	fromAllowed   = "Origin: " + allowedOrigin
)

// withOrigins configures the allowed origins.
func withOrigins(t testing.TB, origins ...string) func(*edge.Config) {
	t.Helper()
	parsed, err := edge.ParseOrigins(origins)
	must(t, err)
	return func(c *edge.Config) { c.Origins = parsed }
}

// withKeys turns on authentication by API keys.
func withKeys(c *edge.Config) { c.Access = access.Config{Keys: true} }

// shared checks the status of the response, and that a page of origin can read it.
func (a answer) shared(t testing.TB, status int, origin string) {
	t.Helper()
	exposed := a.header.Get("Access-Control-Expose-Headers")
	if a.status != status || a.header.Get("Access-Control-Allow-Origin") != origin ||
		a.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v, want %d for %q", a.status, a.header, status, origin)
	}
	for _, name := range []string{"Cairn-Revision", "Cairn-Ignored-Revision", "Cairn-Run", "X-Request-Id", "ETag",
		"Retry-After"} {
		if strings.Contains(exposed, name) != (origin != "") {
			t.Errorf("exposed headers %q of origin %q: %s", exposed, origin, name)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	f := open(t, withOrigins(t, "http://localhost:5173", allowedOrigin))
	echo(t, f, bus.DeleteTag, func(string) {}, schemas.Nothing{})
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		allowed string
	}{
		{"an allowed origin", []string{fromAllowed, "Sec-Fetch-Site: cross-site"}, 204, allowedOrigin},
		{"an allowed origin with a port", []string{"Origin: http://localhost:5173"}, 204, "http://localhost:5173"},
		{"no browser", nil, 204, ""},
		{"another origin", []string{"Origin: https://example.com"}, 403, ""},
		{"another port", []string{"Origin: http://localhost:5174"}, 403, ""},
		{"another scheme", []string{"Origin: http://app.example.com"}, 403, ""},
		{"a longer name", []string{fromAllowed + ".evil.example"}, 403, ""},
		{"an opaque origin", []string{"Origin: null"}, 403, ""},
		{"two origins", []string{fromAllowed, "Origin: https://example.com", "Sec-Fetch-Site: cross-site"}, 403, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := f.request(t, "DELETE", "/tags/r", nil, c.headers...)
			got.shared(t, c.status, c.allowed)
			if vary := got.header.Get("Vary"); vary != "Origin" {
				t.Errorf("Vary %q", vary)
			}
		})
	}
}

func TestEveryOrigin(t *testing.T) {
	t.Parallel()
	f := open(t, withOrigins(t, "*"))
	echo(t, f, bus.DeleteTag, func(string) {}, schemas.Nothing{})
	f.request(t, "DELETE", "/tags/r", nil, "Origin: https://example.com", "Sec-Fetch-Site: cross-site").shared(t, 204, "*")
	f.request(t, "DELETE", "/tags/r", nil, "Sec-Fetch-Site: cross-site").shared(t, 403, "")
}

func TestNoOrigins(t *testing.T) {
	t.Parallel()
	f := open(t)
	got := f.request(t, "OPTIONS", "/tags/r", nil, fromAllowed, "Access-Control-Request-Method: DELETE")
	got.shared(t, 204, "")
	if vary := got.header["Vary"]; vary != nil {
		t.Errorf("Vary %q without allowed origins", vary)
	}
	f.request(t, "DELETE", "/tags/r", nil, fromAllowed).shared(t, 403, "")
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	f := open(t, withOrigins(t, allowedOrigin), withKeys)
	preflight := []string{"Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: authorization,if-match"}
	for _, c := range []struct {
		name, path, origin string
		status             int
		methods            string
	}{
		{"a route", "/records/skill/a.b", allowedOrigin, 204, "DELETE, GET, HEAD, PUT, OPTIONS"},
		{"a stream", "/api/v1/analyze", allowedOrigin, 204, "POST, OPTIONS"},
		{"another origin", "/records/skill/a.b", "https://example.com", 204, ""},
		{"an unknown path", "/nothing", allowedOrigin, 404, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := f.request(t, "OPTIONS", c.path, nil, append(preflight, "Origin: "+c.origin)...)
			if methods := got.header.Get("Access-Control-Allow-Methods"); got.status != c.status || methods != c.methods {
				t.Errorf("%d, methods %q; want %d, %q", got.status, methods, c.status, c.methods)
			}
			allowed := got.header.Get("Access-Control-Allow-Headers")
			for _, name := range []string{
				"Authorization", "Content-Type", "Cairn-Min-Revision", "If-Match", "If-None-Match", "Last-Event-ID", "traceparent",
			} {
				if strings.Contains(allowed, name) != (c.methods != "") {
					t.Errorf("allowed headers %q: %s", allowed, name)
				}
			}
			if age := got.header.Get("Access-Control-Max-Age"); (age != "") != (c.methods != "") {
				t.Errorf("max age %q", age)
			}
		})
	}
}

func TestResponsesToAllowedOrigins(t *testing.T) {
	t.Parallel()
	withoutKey := open(t, withOrigins(t, allowedOrigin), withKeys)
	withoutKey.request(t, "POST", "/resolve/skill", nil, fromAllowed).shared(t, 401, allowedOrigin)
	f := open(t, withOrigins(t, allowedOrigin))
	f.request(t, "POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), fromAllowed,
		"Sec-Fetch-Site: cross-site",
		"Content-Type: application/json", "Accept: application/json, text/event-stream").shared(t, 200, allowedOrigin)
	console := f.request(t, "GET", "/", nil, fromAllowed, "Accept: text/html")
	if vary := strings.Join(console.header.Values("Vary"), ", "); vary != "Origin, Accept, Accept-Encoding" {
		t.Errorf("Vary %q of the console", vary)
	}
	f.request(t, "GET", "/nothing", nil, fromAllowed).shared(t, 404, allowedOrigin)
	f.request(t, "PUT", "/tags/write", nil, fromAllowed).shared(t, 405, allowedOrigin)
	f.request(t, "POST", "/resolve/skill", nil, fromAllowed).shared(t, 503, allowedOrigin)
	must(t, bus.ResolveSkill.Serve(f.service, func(context.Context, schemas.SkillQuery) (schemas.SkillAnswer, error) {
		return schemas.SkillAnswer{}, schemas.ErrTooManyRequests
	}))
	f.request(t, "POST", "/resolve/skill", strings.NewReader(`{"skill_id":"a.b"}`), fromAllowed).shared(t, 429,
		allowedOrigin)
}

func TestStreamsOfAllowedOrigins(t *testing.T) {
	t.Parallel()
	f := open(t, withOrigins(t, allowedOrigin))
	analyses(t, f, func(_ context.Context, s bus.Sender) error {
		return s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
	})
	f.request(t, "POST", "/api/v1/analyze", strings.NewReader(question), fromAllowed).shared(t, 200, allowedOrigin)

	must(t, bus.Watch.Serve(f.service, func(ctx context.Context, _ schemas.Watch, to bus.Sender) error {
		if err := to.Send(schemas.EventWatching, schemas.Watching{Revision: "ID-7"}); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}))
	res := f.open(t, "GET /watch", nil, fromAllowed)
	answer{res.StatusCode, res.Header, ""}.shared(t, 200, allowedOrigin)
	f.stop()
	_, _ = io.Copy(io.Discard, res.Body) // until the drain ends the watch
}

func TestMalformedOrigins(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]string{
		{""}, {"null"}, {"app.example.com"}, {"https://app.example.com/"}, {"https://app.example.com/a"},
		{"https://App.example.com"},
		{"https://app.example.com:443"}, {"http://app.example.com:80"}, {"https://app.example.com:"},
		{"https://*.example.com"},
		{"https://u@app.example.com"}, {"https://app.example.com?a"}, {"ftp://app.example.com"}, {"https://"},
		{"HTTPS://app.example.com"},
		{"https://a,https://b"}, {"*", allowedOrigin},
	} {
		if _, err := edge.ParseOrigins(bad); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%q: %v, want an error", bad, err)
		}
	}
}
