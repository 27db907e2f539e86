package overload

import (
	"context"
	"net/http"
)

type slotKey struct{}

// WithSlot returns a context of the request that holds the slot.
func WithSlot(ctx context.Context, s *Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// Transport returns next for requests to a backend. While it waits for the response
// headers, the request whose slot is in the context (WithSlot) does not count as
// running: a slow backend does not use the processors.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	s, ok := r.Context().Value(slotKey{}).(*Slot)
	if !ok {
		return t.next.RoundTrip(r)
	}
	s.pause()
	response, err := t.next.RoundTrip(r)
	if s.resume(r.Context()) || err != nil {
		return response, err
	}
	_ = response.Body.Close() // the context has ended
	return nil, context.Cause(r.Context())
}
