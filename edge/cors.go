package edge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"cairn/bus"
)

// Response headers of CORS (Fetch Standard, 3.3.3). Access-Control-Allow-Credentials is
// never sent: credentials of Cairn are in the Authorization header, which scripts set.
var (
	corsAny    = []string{"*"}
	corsVary   = []string{"Origin"}
	corsMaxAge = []string{"7200"} // seconds; Chromium's maximum
	// corsRequestHeaders are the request headers of the API that require a preflight.
	corsRequestHeaders = []string{strings.Join([]string{
		"Authorization", "Content-Type", bus.HeaderMinRevision, bus.HeaderMessage, bus.HeaderRequestID, bus.HeaderIfMatch,
		bus.HeaderIfNoneMatch,
		"Last-Event-ID", "Mcp-Protocol-Version", "traceparent", "tracestate",
	}, ", ")}
	// corsResponseHeaders are the response headers of the API that scripts cannot read otherwise.
	corsResponseHeaders = []string{strings.Join([]string{
		bus.HeaderRevision, bus.HeaderAliases, bus.HeaderReferrers, bus.HeaderReferrerCount, bus.HeaderIgnoredRevision,
		bus.HeaderRun, bus.HeaderRequestID, "ETag", "Retry-After", "Allow", "WWW-Authenticate",
	}, ", ")}
)

// Origins are the origins whose pages may call the API from a browser. The zero value
// has none.
type Origins struct {
	every bool
	exact map[string]bool
}

// ParseOrigins parses origins in the form in which browsers send them, such as
// https://app.example.com or http://localhost:5173; "*" alone means every origin.
func ParseOrigins(texts []string) (Origins, error) {
	o := Origins{exact: map[string]bool{}}
	for _, text := range texts {
		if text == "*" {
			o.every = true
			continue
		}
		u, err := url.Parse(text)
		defaultPort := err == nil && (u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443")
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.HasSuffix(u.Host, ":") ||
			strings.Contains(u.Host, "*") || defaultPort || text != strings.ToLower(u.Scheme+"://"+u.Host) {
			return Origins{}, fmt.Errorf("expected *, or an origin scheme://host[:port] in lower case, "+
				"without a default port, path or trailing slash, such as https://app.example.com, got %q", text)
		}
		o.exact[text] = true
	}
	if o.every && len(texts) > 1 {
		return Origins{}, errors.New(`expected "*" alone or exact origins, got both`)
	}
	return o, nil
}

// allow reports whether r is of an allowed origin.
func (o Origins) allow(r *http.Request) bool {
	given := r.Header["Origin"]
	return len(given) == 1 && (o.every || o.exact[given[0]])
}

// setHeaders sets the headers with which the browser lets an allowed origin read the response.
// Vary is in responses to all origins, so that caches keep them apart.
func (o Origins) setHeaders(h http.Header, r *http.Request) {
	if len(o.exact) > 0 {
		h["Vary"] = corsVary
	}
	if !o.allow(r) {
		return
	}
	h["Access-Control-Allow-Origin"] = corsAny
	if !o.every {
		h["Access-Control-Allow-Origin"] = r.Header["Origin"]
	}
	h["Access-Control-Expose-Headers"] = corsResponseHeaders
}

// preflight sets the headers of the response to a preflight request of an allowed origin.
func (o Origins) preflight(h http.Header, r *http.Request, methods string) {
	if !o.allow(r) || r.Header["Access-Control-Request-Method"] == nil {
		return
	}
	h["Access-Control-Allow-Methods"] = []string{methods}
	h["Access-Control-Allow-Headers"] = corsRequestHeaders
	h["Access-Control-Max-Age"] = corsMaxAge
}
