package edge

import (
	"net/http"
	"net/netip"

	"cairn/bus/admission"
	"cairn/edge/access"
	"cairn/schemas"
)

// Limits of each route that needs no credential. Such a request costs microseconds;
// the limits bound the cost of a flood.
const (
	publicRate         = 100 // requests per second of one client address
	publicBurst        = 200
	maxPublicAddresses = 1 << 14 // client addresses with a rate
	maxPublicRequests  = 1024    // in flight, divided among addresses
)

// public limits the requests to one route that needs no credential.
type public struct {
	rates    *access.Rates
	requests *admission.Pool
}

func newPublic() *public {
	return &public{access.NewRates(publicRate, publicBurst, maxPublicAddresses), admission.NewPool(maxPublicRequests)}
}

// enter admits the request and counts it as in flight until release is called. It sets
// Retry-After for a refused one.
func (p *public) enter(w http.ResponseWriter, r *http.Request) (release func(), err *schemas.Error) {
	address := clientAddress(r.RemoteAddr)
	if wait := p.rates.Take(address); wait > 0 {
		setRetryAfter(w, wait)
		return nil, schemas.ErrTooManyRequests.Because("the client address exceeds the rate limit for requests without a credential")
	}
	if !p.requests.Acquire(address, 1) {
		return nil, schemas.ErrTooManyRequests.Because("the limit of concurrent requests without a credential is reached")
	}
	return func() { p.requests.Release(address, 1) }, nil
}

// clientAddress returns the network address that a request or connection of the peer
// counts against: its address, for IPv6 its /64, which usually belongs to one host.
func clientAddress(remote string) string {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil { // not a TCP connection
		return remote
	}
	address := peer.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}
