package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Ask begins the span of a request on a subject, in whose trace it is; it begins no
// trace. Kinds are those of a client and its server rather than of producer and
// consumer, since the caller waits for the answer.
func Ask(ctx context.Context, subject string) (context.Context, Span) {
	ctx, s := start(ctx, asClient, "send", subject, false)
	if s.span != nil {
		s.set(messagingNATS, semconv.MessagingDestinationName(subject),
			semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("send"))
	}
	return ctx, s
}

var messagingNATS = semconv.MessagingSystemKey.String("nats")

// Answered notes what became of the request: the status of an error, else 0.
func (s Span) Answered(status int, code string) {
	if s.span != nil && status >= serverError {
		s.fail(code)
	}
}

// Subject is what is told of the requests on a subject that a worker takes.
type Subject struct {
	name string
	root bool
	outcomes
}

// NewSubject begins to tell of a subject. With root, a request of no trace
// begins one.
func NewSubject(name string, root bool) *Subject {
	natsRefused.WithLabelValues(name) // counted from nothing
	return &Subject{name, root, outcomesOf(natsDuration, 200, prometheus.Labels{"subject": name})}
}

// Refused counts a request that a full worker refused.
func (s *Subject) Refused() { natsRefused.WithLabelValues(s.name).Inc() }

// Work is a request that a worker is at: its span, and what is counted of it.
type Work struct {
	of     *Subject
	began  time.Time
	span   Span
	status int
	code   string
}

type workKey struct{}

// Begin begins the work at a request on the subject; the caller ends it.
func (s *Subject) Begin(ctx context.Context, requestID string) (context.Context, *Work) {
	w := &Work{of: s, began: time.Now(), status: 200}
	ctx, w.span = start(ctx, asServer, "process", s.name, s.root)
	if w.span.span != nil {
		w.span.set(messagingNATS, semconv.MessagingDestinationName(s.name),
			semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"))
		w.span.RequestID(requestID)
	}
	return context.WithValue(ctx, workKey{}, w), w
}

// End ends the work.
func (w *Work) End() {
	w.of.observe(w.status, time.Since(w.began))
	if w.status >= serverError {
		w.span.fail(w.code)
	}
	w.span.End()
}

// Failed notes the error that the work of ctx ended with, by its HTTP status.
// It is not called concurrently.
func Failed(ctx context.Context, status int, code string) {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		w.status, w.code = status, code
	}
}

// StatusLeft is the status of a request whose caller did not wait.
const StatusLeft = 499

// FirstEvent notes that the work of ctx, a stream, has sent its first event.
func FirstEvent(ctx context.Context) {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		firstEvent.WithLabelValues(w.of.name).Observe(time.Since(w.began).Seconds())
	}
}
