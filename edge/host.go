package edge

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"cairn/schemas"
)

// hosts are the configured host names of the edge in lower case. For a browser, a
// page whose DNS name resolves to this address (DNS rebinding) has the same origin;
// only the Host header tells the two apart.
type hosts map[string]bool

func newHosts(names []string) hosts {
	h := hosts{"localhost": true}
	for _, name := range names {
		h[canonicalHost(name)] = true
	}
	return h
}

// check returns ErrMisdirected unless the request's Host is localhost, an IP
// address or a configured name. A request without a Host is HTTP/1.0 and not from
// a browser; it is accepted.
func (h hosts) check(r *http.Request) *schemas.Error {
	name := canonicalHost(hostname(r.Host))
	if name == "" || h[name] {
		return nil
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	return schemas.ErrMisdirected.Because(fmt.Sprintf(
		"the Host %q is not a name of this server: want localhost, an IP address, or a name given with --http-host (CAIRN_HTTP_HOST)", r.Host))
}

// hostname returns a Host header without its port and brackets.
func hostname(host string) string {
	if strings.HasPrefix(host, "[") {
		address, _, _ := strings.Cut(host[1:], "]")
		return address
	}
	name, _, _ := strings.Cut(host, ":")
	return name
}

// canonicalHost returns the name in lower case, without the dot of the DNS root.
func canonicalHost(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
