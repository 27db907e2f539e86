package bus

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// The headers of Cairn's messages.
const (
	// HeaderRequestID identifies a request in logs, on the bus and over HTTP.
	HeaderRequestID = "X-Request-Id"
	// HeaderRevision on a reply: the consistency token of the write.
	HeaderRevision = "Cairn-Revision"
	// HeaderAliases over HTTP: the names of the aliases that were deleted with a record, separated by commas.
	HeaderAliases = "Cairn-Aliases"
	// HeaderMinRevision on a request: the consistency tokens, separated by commas, of the
	// writes that the reply must include.
	HeaderMinRevision = "Cairn-Min-Revision"
	// HeaderIgnoredRevision on a reply: the tokens of the request that belong to another catalog.
	HeaderIgnoredRevision = "Cairn-Ignored-Revision"
	// HeaderIfMatch and HeaderIfNoneMatch on a registration or deletion: its precondition.
	HeaderIfMatch     = "If-Match"
	HeaderIfNoneMatch = "If-None-Match"
	// HeaderMessage on a write: why the caller makes the change.
	HeaderMessage = "Cairn-Message"
	// HeaderIdentity on a request: the identity of the caller as JSON, set by an edge.
	// A request without it has the permissions of its NATS user.
	HeaderIdentity = "Cairn-Identity"
	// HeaderTimeout on a request: the caller's timeout as a Go duration.
	HeaderTimeout = "Cairn-Timeout"
	// HeaderEvent on a message of a stream: the event's type. A message of a stream
	// without it is a heartbeat.
	HeaderEvent = "Cairn-Event"
	// HeaderSequence on an event: its sequence in the stream, from 1.
	HeaderSequence = "Cairn-Sequence"
	// HeaderBodySize on a stream's request: a body of that many bytes follows in
	// chunks (HeaderBodySubject).
	HeaderBodySize = "Cairn-Body-Size"
	// HeaderBodySubject on the first message of a worker: the subject for the chunks of the
	// body. Absent: the reply subject of the message.
	HeaderBodySubject = "Cairn-Body-Subject"
	// HeaderReferrers and HeaderReferrerCount over HTTP on the reply to a deletion: the first records that linked to the
	// record, as references relative to /records/, and the number of all of them.
	HeaderReferrers     = "Cairn-Referrers"
	HeaderReferrerCount = "Cairn-Referrer-Count"
	// HeaderRun over HTTP: the run of the answer.
	HeaderRun = "Cairn-Run"
	// HeaderBusy on an error: this worker has no free slot; another may have.
	HeaderBusy = "Cairn-Busy"
	// HeaderHeartbeat on a request: the client expects heartbeats. On a message to
	// the client: a heartbeat, which precedes the reply.
	HeaderHeartbeat = "Cairn-Heartbeat"
	// HeaderWindow on a stream's request: the flow-control window, in unacknowledged events.
	// Absent: no flow control.
	HeaderWindow = "Cairn-Window"
	// HeaderRead on a message to a worker's control subject: the client has read the
	// events up to this sequence.
	HeaderRead = "Cairn-Read"
	// HeaderCancel on a message to a worker's control subject cancels the stream.
	HeaderCancel = "Cairn-Cancel"
)

type (
	requestIDKey   struct{}
	minRevisionKey struct{}
)

// WithRequestID returns ctx with the request ID.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the request ID of ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// MaxRequestID bounds a request ID, in bytes.
const MaxRequestID = 128

// ValidRequestID reports whether id may be used in logs and headers: 1 to MaxRequestID
// visible ASCII characters.
func ValidRequestID(id string) bool {
	return len(id) >= 1 && len(id) <= MaxRequestID && !strings.ContainsFunc(id, func(r rune) bool {
		return r <= ' ' || r > '~'
	})
}

// minTokens holds the minimum consistency tokens of a request.
type minTokens struct {
	tokens []schemas.ConsistencyToken

	mu      sync.Mutex
	ignored []string // texts of the tokens of other catalogs
}

// WithTokens returns ctx for a request whose reply must include the writes of the tokens.
func WithTokens(ctx context.Context, tokens ...schemas.ConsistencyToken) context.Context {
	return context.WithValue(ctx, minRevisionKey{}, &minTokens{tokens: tokens})
}

// MinRevisionOf returns the revision of the catalog that the reply to the request of ctx must
// include, or 0. It ignores tokens of other catalogs, which the reply lists.
func MinRevisionOf(ctx context.Context, catalog string) (highest uint64) {
	m, _ := ctx.Value(minRevisionKey{}).(*minTokens)
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ignored = nil
	for _, t := range m.tokens {
		if t.Catalog != "" && t.Catalog != catalog {
			m.ignored = append(m.ignored, t.String())
			continue
		}
		highest = max(highest, t.Revision)
	}
	return highest
}

// IgnoredTokens returns the tokens that MinRevisionOf has ignored, separated by commas.
func IgnoredTokens(ctx context.Context) string {
	m, _ := ctx.Value(minRevisionKey{}).(*minTokens)
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.ignored, ",")
}

// parseTokens returns the consistency tokens in the text of a header, which are separated by commas.
func parseTokens(text string) (list []schemas.ConsistencyToken, err error) {
	if text == "" {
		return nil, nil
	}
	for token := range strings.SplitSeq(text, ",") {
		t, err := schemas.ParseConsistencyToken(strings.TrimSpace(token))
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// newMessage returns a request on subject with the metadata of ctx as headers, without its timeout.
func newMessage(ctx context.Context, subject string, body []byte) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Data = body
	if id := RequestID(ctx); id != "" {
		msg.Header.Set(HeaderRequestID, id)
	}
	if caller := Identity(ctx); caller != nil {
		text, _ := json.Marshal(caller) // fails for invalid UTF-8, which no credential contains
		msg.Header.Set(HeaderIdentity, string(text))
	}
	if m, _ := ctx.Value(minRevisionKey{}).(*minTokens); m != nil && len(m.tokens) > 0 {
		list := make([]string, len(m.tokens))
		for i, t := range m.tokens {
			list[i] = t.String()
		}
		msg.Header.Set(HeaderMinRevision, strings.Join(list, ","))
	}
	p := Precondition(ctx)
	if p.IfMatch != "" {
		msg.Header.Set(HeaderIfMatch, p.IfMatch)
	}
	if p.IfNoneMatch != "" {
		msg.Header.Set(HeaderIfNoneMatch, p.IfNoneMatch)
	}
	if message := Origin(ctx).Message; message != "" {
		msg.Header.Set(HeaderMessage, message)
	}
	telemetry.Inject(ctx, msg.Header.Set)
	return msg
}

// setTimeout sets the timeout of the request to the rest of that of ctx.
func setTimeout(ctx context.Context, request *nats.Msg) {
	if deadline, ok := ctx.Deadline(); ok {
		request.Header.Set(HeaderTimeout, time.Until(deadline).String())
	}
}

// received returns parent with the metadata in the headers of a request. It generates a request ID
// if there is no valid one. The timeout is the caller's, limited to maxTimeout.
func received(parent context.Context, header func(string) string,
	maxTimeout time.Duration) (context.Context, context.CancelFunc) {
	id := header(HeaderRequestID)
	if !ValidRequestID(id) {
		id = nuid.Next()
	}
	ctx := WithRequestID(parent, id)
	ctx = telemetry.Extract(ctx, cmp.Or(header(telemetry.HeaderTraceParent), header("Traceparent")),
		cmp.Or(header(telemetry.HeaderTraceState), header("Tracestate"))) // some clients canonicalize the names
	timeout := maxTimeout
	if d, err := time.ParseDuration(header(HeaderTimeout)); err == nil && d > 0 && d < maxTimeout {
		timeout = d
	}
	return context.WithTimeout(ctx, timeout)
}

type preconditionKey struct{}

// WithPrecondition returns ctx for a write with the precondition p.
func WithPrecondition(ctx context.Context, p schemas.Precondition) context.Context {
	return context.WithValue(ctx, preconditionKey{}, p)
}

// Precondition returns the precondition of ctx. The zero precondition permits every write.
func Precondition(ctx context.Context) schemas.Precondition {
	p, _ := ctx.Value(preconditionKey{}).(schemas.Precondition)
	return p
}

// withConditions returns ctx with the consistency tokens and the precondition in the headers of a
// request; wrong lists the malformed headers.
func withConditions(ctx context.Context, header nats.Header) (_ context.Context, wrong []schemas.FieldError) {
	check := func(name string, err error) {
		if err != nil {
			wrong = append(wrong, schemas.FieldError{Field: name, Message: err.Error()})
		}
	}
	tokens, err := parseTokens(strings.Join(header.Values(HeaderMinRevision), ","))
	if check(HeaderMinRevision, err); len(tokens) > 0 {
		ctx = WithTokens(ctx, tokens...)
	}
	tags := func(name string) string {
		text := strings.Join(header.Values(name), ",")
		if text != "" {
			check(name, schemas.CheckTags(text))
		}
		return text
	}
	if p := (schemas.Precondition{IfMatch: tags(HeaderIfMatch),
		IfNoneMatch: tags(HeaderIfNoneMatch)}); p != (schemas.Precondition{}) {
		ctx = WithPrecondition(ctx, p)
	}
	check(HeaderMessage, schemas.CheckMessage(header.Get(HeaderMessage)))
	return ctx, wrong
}

// clientInfoHeader is the header with the client of a request from another account
// (nats-server, ClientInfoHdr).
const clientInfoHeader = "Nats-Request-Info"

// authorize returns ctx with the caller's identity, and an error if it lacks the permission. The
// server adds clientInfoHeader to requests from another NATS account (an import with "share"); such
// a client is authenticated by NATS alone, and must not send an identity.
func authorize(ctx context.Context, header func(string) string,
	permission schemas.Permission) (context.Context, *schemas.Identity, error) {
	text := header(HeaderIdentity)
	if text == "" {
		return ctx, nil, nil
	}
	if header(clientInfoHeader) != "" {
		return ctx, nil, schemas.ErrForbidden.Because("a client of another NATS account must not send " + HeaderIdentity)
	}
	caller := &schemas.Identity{}
	if err := json.Unmarshal([]byte(text), caller); err != nil || caller.Validate() != nil {
		return ctx, nil, schemas.ErrForbidden.Because("invalid " + HeaderIdentity + " header")
	}
	return WithIdentity(ctx, caller), caller, caller.Authorize(permission)
}
