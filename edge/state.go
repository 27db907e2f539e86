package edge

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/edge/access"
	"cairn/edge/ard"
	"cairn/edge/describe"
	"cairn/schemas"
)

// edge is what all requests share.
type edge struct {
	conn          *bus.Conn
	log           *slog.Logger
	describe      func() (describe.Description, error) // of the routes
	authenticator *access.Authenticator                // nil: authentication is off
	origins       Origins
	requests      *admission.Pool // in flight; nil: the workers of this process admit them
	streams       *admission.Pool // open event streams
	longWork      *admission.Pool // CPUs for long parts of requests
	refusals      *rate.Limiter   // of refusals without a delay
	bodies        *admission.Pool // bytes of request bodies
	watermark     watermark
	requestCtx    context.Context // parent of the contexts of requests; ends when the drain times out
	acceptCtx     context.Context // ends when the drain begins and no new requests are accepted
	keepAlive     time.Duration   // of streams
	analysis      bus.Stream[schemas.Analysis]
	clusterHealth func() (problem string, quorum bool)
	publisher     ard.Publisher
}

// draining reports whether the edge accepts no more requests.
func (e *edge) draining() bool { return e.acceptCtx.Err() != nil }

// stopped reports whether requests in flight are being canceled.
func (e *edge) stopped() bool { return e.requestCtx.Err() != nil }
