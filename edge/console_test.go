package edge_test

import (
	"regexp"
	"strings"
	"testing"

	"cairn/edge"
	"cairn/edge/console"
)

const browserAccept = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// build is the build of the console that a page refers to.
var build = regexp.MustCompile(`/console/([0-9a-f]+)/app\.js`)

func TestConsole(t *testing.T) {
	t.Parallel()
	f := open(t)
	page := f.request(t, "GET", "/", nil, browserAccept)
	match := build.FindStringSubmatch(page.body)
	if page.status != 200 || match == nil || page.header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("the page: %d %v %s", page.status, page.header, page.body)
	}
	for _, c := range []struct{ path, media, cache string }{
		{match[1] + "/app.js", "text/javascript; charset=utf-8", "immutable"},
		{match[1] + "/console.css", "text/css; charset=utf-8", "immutable"},
		{"0123/app.js", "text/javascript; charset=utf-8", "no-store"}, // of another version
	} {
		got := f.request(t, "GET", "/console/"+c.path, nil)
		if got.status != 200 || got.header.Get("Content-Type") != c.media ||
			!strings.Contains(got.header.Get("Cache-Control"), c.cache) {
			t.Errorf("%s: %d %v", c.path, got.status, got.header)
		}
	}
	for path, status := range map[string]int{
		"/console/" + match[1] + "/none.js": 404, "/console/" + match[1] + "/..%2Findex.html": 404, "/console/app.js": 404,
		"/console/": 404,
	} {
		if got := f.request(t, "GET", path, nil); got.status != status || got.problem(t).Code != "CE-004" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := f.request(t, "GET", "/", nil, browserAccept,
		"Accept-Encoding: gzip"); got.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("with gzip: %v", got.header)
	}
}

func TestConsolePolicy(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, path := range []string{"/", "/console/x/app.js"} {
		got := f.request(t, "GET", path, nil, browserAccept)
		if got.header.Get("Content-Security-Policy") != console.ContentSecurityPolicy ||
			got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.header)
		}
	}
}

func TestConsoleForOtherClients(t *testing.T) {
	t.Parallel()
	with, without := open(t), open(t, func(c *edge.Config) { c.NoConsole = true })
	for _, accept := range []string{"", "Accept: */*", "Accept: application/json"} {
		headers := []string{"X-Request-Id: me"}
		if accept != "" {
			headers = append(headers, accept)
		}
		got, want := with.request(t, "GET", "/", nil, headers...), without.request(t, "GET", "/", nil, headers...)
		if got.status != 404 || got.body != want.body {
			t.Errorf("%s: %d %s, want %s", accept, got.status, got.body, want.body)
		}
	}
	for _, path := range []string{"/", "/console/x/app.js"} {
		if got := without.request(t, "GET", path, nil, browserAccept); got.status != 404 || got.problem(t).Code != "CE-004" {
			t.Errorf("%s without the console: %d %s", path, got.status, got.body)
		}
	}
}
