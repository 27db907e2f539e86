package bus

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"cairn/bus/telemetry"
)

// The headers of Cairn's messages.
const (
	// HeaderRequestID names a request in logs, on the bus and over HTTP.
	HeaderRequestID = "X-Request-Id"
	// HeaderRevision on a reply: the catalog revision that holds what was written.
	HeaderRevision = "Cairn-Revision"
	// HeaderMinRevision on a request: the least revision that the answer must have seen.
	HeaderMinRevision = "Cairn-Min-Revision"
	// HeaderIdentity on a request: who asks, as an edge has found out, as JSON.
	// Without it the caller is trusted, as far as NATS lets it ask.
	HeaderIdentity = "Cairn-Identity"
	// HeaderTimeout on a request: how long the caller waits, as a Go duration.
	HeaderTimeout = "Cairn-Timeout"
	// HeaderEvent on a message of a stream: the event's type. A message
	// without it is a sign of life.
	HeaderEvent = "Cairn-Event"
	// HeaderSequence on an event: its place in the stream, from 1.
	HeaderSequence = "Cairn-Sequence"
	// HeaderBodySize on a stream's request: the body of so many bytes follows
	// in chunks, to the reply subject of the worker's first message.
	HeaderBodySize = "Cairn-Body-Size"
	// HeaderRun over HTTP: the run that the answer is of.
	HeaderRun = "Cairn-Run"
	// HeaderBusy on an error: this worker is full, another one may not be.
	HeaderBusy = "Cairn-Busy"
	// HeaderSign on a request: the caller wants to be shown that a worker is at it.
	// On a message to the caller: it shows that, and the answer is yet to come.
	HeaderSign = "Cairn-Sign"
	// HeaderWindow on a stream's request: the worker may be so many events ahead
	// of what the caller says that it has read. Without it, any number.
	HeaderWindow = "Cairn-Window"
	// HeaderRead on a message to a worker's reply subject: the caller has read
	// the events up to this one.
	HeaderRead = "Cairn-Read"
	// HeaderCancel on a message to a worker's reply subject ends the stream.
	HeaderCancel = "Cairn-Cancel"
)

type (
	requestIDKey   struct{}
	minRevisionKey struct{}
)

// WithRequestID is ctx for the request named id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID is the name of ctx's request; empty when it has none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// SaneRequestID reports whether id can stand in logs and headers: 1 to 128
// visible ASCII characters.
func SaneRequestID(id string) bool {
	visible := func(r rune) bool { return r > ' ' && r <= '~' }
	return len(id) >= 1 && len(id) <= 128 && strings.IndexFunc(id, func(r rune) bool { return !visible(r) }) < 0
}

// WithMinRevision is ctx for a request whose answer must have seen revision.
func WithMinRevision(ctx context.Context, revision uint64) context.Context {
	return context.WithValue(ctx, minRevisionKey{}, revision)
}

// MinRevision is the least revision that an answer in ctx must have seen.
func MinRevision(ctx context.Context) uint64 {
	revision, _ := ctx.Value(minRevisionKey{}).(uint64)
	return revision
}

// newMessage is a request on subject that carries what ctx knows.
func newMessage(ctx context.Context, subject string, body []byte) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Data = body
	if id := RequestID(ctx); id != "" {
		msg.Header.Set(HeaderRequestID, id)
	}
	if by := Identity(ctx); by != nil {
		msg.Header.Set(HeaderIdentity, encodeIdentity(by))
	}
	if revision := MinRevision(ctx); revision > 0 {
		msg.Header.Set(HeaderMinRevision, strconv.FormatUint(revision, 10))
	}
	if deadline, ok := ctx.Deadline(); ok {
		msg.Header.Set(HeaderTimeout, time.Until(deadline).String())
	}
	telemetry.Carry(ctx, msg.Header.Set)
	return msg
}

// received is parent with what the headers of a request say. A request without
// a sane name gets one; the caller's patience is bounded by most.
func received(parent context.Context, header func(string) string, most time.Duration) (context.Context, context.CancelFunc) {
	id := header(HeaderRequestID)
	if !SaneRequestID(id) {
		id = nuid.Next()
	}
	ctx := WithRequestID(parent, id)
	ctx = telemetry.Continue(ctx, cmp.Or(header(telemetry.HeaderTraceParent), header("Traceparent")), cmp.Or(header(telemetry.HeaderTraceState), header("Tracestate"))) // as some clients write them
	if revision, err := strconv.ParseUint(header(HeaderMinRevision), 10, 64); err == nil {
		ctx = WithMinRevision(ctx, revision)
	}
	patience := most
	if d, err := time.ParseDuration(header(HeaderTimeout)); err == nil && d > 0 && d < most {
		patience = d
	}
	return context.WithTimeout(ctx, patience)
}
