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
	anonymousRate         = 100 // requests per second of one client address
	anonymousBurst        = 200
	maxAnonymousAddresses = 1 << 14 // client addresses with a rate
	maxAnonymousRequests  = 1024    // in flight, divided among addresses
)

// anonymousLimiter limits the requests to one route that needs no credential.
type anonymousLimiter struct {
	rates    *access.Rates
	requests *admission.Pool
}

func newAnonymousLimiter() *anonymousLimiter {
	return &anonymousLimiter{access.NewRates(anonymousRate, anonymousBurst, maxAnonymousAddresses),
		admission.NewPool(maxAnonymousRequests)}
}

// enter admits the request and counts it as in flight until release is called. It sets
// Retry-After for a refused one.
func (l *anonymousLimiter) enter(w http.ResponseWriter, r *http.Request) (release func(), err *schemas.Error) {
	address := clientAddress(r.RemoteAddr)
	if wait := l.rates.Take(address); wait > 0 {
		setRetryAfter(w, wait)
		return nil, schemas.ErrTooManyRequests.Because(
			"the client address exceeds the rate limit for requests without a credential")
	}
	if !l.requests.Acquire(address, 1) {
		return nil, schemas.ErrTooManyRequests.Because("the limit of concurrent requests without a credential is reached")
	}
	return func() { l.requests.Release(address, 1) }, nil
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
