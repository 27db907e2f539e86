package edge

import (
	"net/http"
	"net/netip"

	"cairn/bus/admission"
	"cairn/edge/access"
	"cairn/schemas"
)

// Limits of each route that needs no credential. A probe of such a route costs
// microseconds; the limits keep a flood of them from costing more than that.
const (
	publicRate      = 100 // requests per second of one client address
	publicBurst     = 200
	publicAddresses = 1 << 14 // whose rates are kept
	publicRequests  = 1024    // at a time, divided among addresses
)

// public bounds the requests for one route that needs no credential.
type public struct {
	rates    *access.Rates
	requests *admission.Pool
}

func newPublic() *public {
	return &public{access.NewRates(publicRate, publicBurst, publicAddresses), admission.NewPool(publicRequests)}
}

// enterPublic admits the request until leave is called.
func (x *exchange) enterPublic(p *public) (leave func(), err error) {
	address := clientAddress(x.r)
	if wait := p.rates.Admit(address); wait > 0 {
		x.retryAfter(wait)
		return nil, schemas.ErrTooManyRequests.Because("the client address sends more requests than it may without a credential")
	}
	if !p.requests.Acquire(address, 1) {
		return nil, schemas.ErrTooManyRequests.Because("too many requests without a credential are in flight")
	}
	return func() { p.requests.Release(address, 1) }, nil
}

// clientAddress returns the network address that a request counts against: that
// of the connection, and of IPv6 the /64, which one host has for itself.
func clientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil { // not of a TCP connection
		return r.RemoteAddr
	}
	address := peer.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}
