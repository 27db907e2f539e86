package edge

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"cairn/schemas"
)

// hosts are the configured host names of the edge in lower case. For a browser, a
// page whose DNS name resolves to this address (DNS rebinding) has the same origin;
// only the Host header distinguishes them.
type hosts map[string]bool

func newHosts(names []string) hosts {
	h := hosts{"localhost": true}
	for _, name := range names {
		h[canonicalHost(name)] = true
	}
	delete(h, "") // the name of a malformed Host
	return h
}

// check returns ErrMisdirected unless the request's Host is localhost, an IP
// address or a configured name. A request without a Host is accepted if it is
// HTTP/1.0: browsers do not send it.
func (h hosts) check(r *http.Request) *schemas.Error {
	if r.Host == "" && !r.ProtoAtLeast(1, 1) {
		return nil
	}
	if address, err := netip.ParseAddrPort(r.Host); h[r.Host] || err == nil && address.Addr().Zone() == "" {
		return nil // without the cost of parsing a URL
	}
	name := canonicalHost(hostname(r.Host))
	if h[name] {
		return nil
	}
	if address, err := netip.ParseAddr(name); err == nil && address.Zone() == "" {
		return nil
	}
	return schemas.ErrMisdirected.Because(fmt.Sprintf(
		"the Host %q is not allowed: expected localhost, an IP address, or a name given with --http-host (CAIRN_HTTP_HOST)",
		r.Host))
}

// hostname returns a Host header without its port and brackets; empty for one that
// is not uri-host [ ":" port ] (RFC 9110, 7.2).
func hostname(host string) string {
	u, err := url.Parse("//" + host)
	if err != nil || u.Host != host {
		return ""
	}
	return u.Hostname()
}

// canonicalHost returns the name in lower case, without the dot of the DNS root.
func canonicalHost(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
