package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// StartRequest starts the span of a request to a subject within the caller's trace, if any. The
// kinds are client and server, not producer and consumer, because the caller waits.
func StartRequest(ctx context.Context, subject string) (context.Context, Span) {
	ctx, s := start(ctx, asClient, "send", subject, false)
	if s.span != nil {
		s.set(messagingNATS, semconv.MessagingDestinationName(subject),
			semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("send"))
	}
	return ctx, s
}

var messagingNATS = semconv.MessagingSystemKey.String("nats")

// Subject holds the metrics of a subject on its worker.
type Subject struct {
	name string
	root bool
	outcomes

	mu     sync.Mutex
	totals Totals
}

// Totals are the statistics of a subject since its registration. They include the requests that have
// ended or were refused.
type Totals struct {
	Requests       int
	Errors         int
	LastError      string // code of the last error
	ProcessingTime time.Duration
}

// Totals returns the statistics of the subject.
func (s *Subject) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals
}

// add adds a request with its duration and error code; an empty code is a success.
func (s *Subject) add(code string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Requests++
	s.totals.ProcessingTime += took
	if code != "" {
		s.totals.Errors++
		s.totals.LastError = code
	}
}

// NewSubject registers a subject. With root, a request without a trace starts one.
func NewSubject(name string, root bool) *Subject {
	natsRefused.WithLabelValues(name) // initialize the counter
	return &Subject{name: name, root: root, outcomes: outcomesOf(natsDuration, 200, prometheus.Labels{"subject": name})}
}

// Refused counts a request that the worker refused with the error code.
func (s *Subject) Refused(code string) {
	natsRefused.WithLabelValues(s.name).Inc()
	s.add(code, 0)
}

// Work is the span and the metrics of a request on its worker.
type Work struct {
	subject *Subject
	began   time.Time
	span    Span

	mu     sync.Mutex
	status int
	code   string
}

type workKey struct{}

// Begin starts the work for a request; the caller ends it.
func (s *Subject) Begin(ctx context.Context, requestID string) (context.Context, *Work) {
	w := &Work{subject: s, began: time.Now(), status: 200}
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
	w.mu.Lock()
	defer w.mu.Unlock()
	took := time.Since(w.began)
	w.subject.Count(w.status, took)
	w.subject.add(w.code, took)
	if w.status >= serverError {
		w.span.fail(w.code)
	}
	w.span.End()
}

// Failed sets the error of the work in ctx by its HTTP status. If several parts of it fail, the last one counts.
func Failed(ctx context.Context, status int, code string) {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.status, w.code = status, code
	}
}

// StatusDisconnected is the status of a request whose caller disconnected.
const StatusDisconnected = 499

// FirstEvent records that the stream in ctx has sent its first event.
func FirstEvent(ctx context.Context) {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		firstEvent.WithLabelValues(w.subject.name).Observe(time.Since(w.began).Seconds())
	}
}
