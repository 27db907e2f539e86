package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/admission"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

const (
	// callTimeout bounds every request. A write may wait for a leader election of NATS,
	// which takes up to 10 s.
	callTimeout = 15 * time.Second
	// MaxBody is the largest body of a request, in bytes.
	MaxBody = 1 << 20
)

// Endpoint is a subject that answers each Req with one Res.
type Endpoint[Req, Res any] struct {
	Subject    string
	Summary    string             // of the operation, in one line
	Invalid    *schemas.Error     // for a request that cannot be read or is not valid
	Permission schemas.Permission // that the caller must have; empty admits everyone
}

// Reply is the reply to a request, with its JSON body not decoded.
type Reply struct {
	Body    []byte
	Token   schemas.ConsistencyToken   // of a write or of the record that was read; else the zero token
	Ignored []schemas.ConsistencyToken // tokens of the request that belong to another catalog
}

// Call sends req and returns the reply. It waits at most 15 seconds, not beyond the deadline of ctx,
// and at most 2.5 seconds without a heartbeat from a worker. The package documentation (Requests)
// lists the requests that are retried. The error is a *schemas.Error or the error of ctx.
func (e Endpoint[Req, Res]) Call(ctx context.Context, c *Conn, req Req) (res Res, err error) {
	body, err := json.Marshal(req)
	if err != nil {
		return res, err
	}
	reply, err := e.Forward(ctx, c, body)
	if err != nil {
		return res, err
	}
	return res, json.Unmarshal(reply.Body, &res)
}

// Forward is Call with a body that is already JSON, and returns the reply unchanged.
func (e Endpoint[Req, Res]) Forward(ctx context.Context, c *Conn, body []byte) (_ Reply, err error) {
	ctx, span := telemetry.StartRequest(ctx, e.Subject)
	defer func() { endSpan(span, err) }()
	request := newMessage(ctx, e.Subject, body)
	if e.storesOnce() && Precondition(ctx) == (schemas.Precondition{}) {
		request.Header.Set(jetstream.MsgIDHeader, rand.Text())
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	requests := c.requests
	if len(body) > maxInline {
		if requests, err = c.bulk(); err != nil {
			return Reply{}, transportError(e.Subject, err)
		}
	}
	tenant, queue := AdmissionKey(Identity(ctx), nil), c.queues.subject(e.Subject)
	if err := enter(ctx, queue, tenant); err != nil {
		return Reply{}, transportError(e.Subject, err)
	}
	defer queue.Leave(tenant)
	delivery := c.outages.deliver(ctx, e.Subject)
	defer delivery.end()
	for {
		msg, err := requests.roundTrip(ctx, request, e.reads())
		if err == nil {
			return readReply(msg)
		}
		if e.retry(request, err) {
			err = delivery.wait(ctx, err)
		}
		if err != nil {
			return Reply{}, transportError(e.Subject, err)
		}
	}
}

// reads reports whether requests are reads, which may be performed twice.
func (e Endpoint[Req, Res]) reads() bool { return e.Permission == schemas.PermissionRead }

// storesOnce reports whether workers store the writes of a request once, by the ID in its
// Nats-Msg-Id header (bucket.WithRequest). Requests with a precondition are excluded: the write of
// the first copy makes the precondition false for the next copy.
func (e Endpoint[Req, Res]) storesOnce() bool {
	return e.Permission == schemas.PermissionTag || e.Permission == schemas.PermissionRegister
}

// healthSubjects is the prefix of the subjects of Health.
const healthSubjects = "cairn.health."

// retry reports whether a request that failed with err waits for the end of an outage: it was not
// delivered, or the connection was lost and it is a read or a write that is stored once.
// Health checks do not wait, so that they report the outage.
func (e Endpoint[Req, Res]) retry(request *nats.Msg, err error) bool {
	switch {
	case strings.HasPrefix(e.Subject, healthSubjects):
		return false
	case undelivered(err):
		return true
	case errors.Is(err, errConnectionLost):
		return e.reads() || storedOnce(request)
	}
	return false
}

func endSpan(span telemetry.Span, err error) {
	if e, ok := errors.AsType[*schemas.Error](err); ok {
		span.Answered(e.Status, e.Code)
	}
	span.End()
}

func readReply(msg *nats.Msg) (Reply, error) {
	if err := readError(msg); err != nil {
		return Reply{}, err
	}
	reply := Reply{Body: msg.Data}
	reply.Ignored, _ = parseTokens(msg.Header.Get(HeaderIgnoredRevision)) // malformed: none
	if token := msg.Header.Get(HeaderRevision); token != "" {
		reply.Token, _ = schemas.ParseConsistencyToken(token) // malformed: the zero token
	}
	return reply, nil
}

// Serve answers the endpoint's requests with handle, concurrently, until s stops.
func (e Endpoint[Req, Res]) Serve(s *Service, handle func(context.Context, Req) (Res, error)) error {
	return e.serve(s, s.admitted, handle)
}

func (e Endpoint[Req, Res]) serve(s *Service, admitted *admission.Pool,
	handle func(context.Context, Req) (Res, error)) error {
	d := &responder{
		Operation: e.Operation(), timeout: callTimeout, invalid: e.Invalid, mapError: visible, admitted: admitted,
		bulk: e.Permission == schemas.PermissionRegister,
	}
	return s.add(d, func(ctx context.Context, r *request) {
		defer func() {
			if p := recover(); p != nil {
				d.fail(ctx, r.Msg, Recovered(p))
			}
		}()
		defer d.heartbeats(r.Msg).stop()
		req, err := e.decode(r)
		if err != nil {
			d.fail(ctx, r.Msg, err)
			return
		}
		tenant := AdmissionKey(r.caller, &req)
		if admitted == s.admitted && !r.start(ctx, s.running, tenant) {
			d.fail(ctx, r.Msg, busy(e.Subject))
			return
		}
		res, err := handle(admission.WithTenant(ctx, tenant), req)
		if err != nil {
			d.fail(ctx, r.Msg, err)
			return
		}
		d.answer(ctx, r.Msg, res)
	})
}

// decode returns the request if it is valid and its caller is authorized.
func (e Endpoint[Req, Res]) decode(r *request) (req Req, err error) {
	switch {
	case r.denied != nil:
		return req, r.denied
	case len(r.Data) > MaxBody:
		return req, tooLarge(len(r.Data), MaxBody)
	}
	if req, err = schemas.Decode[Req](r.Data, e.Invalid); err == nil {
		err = r.caller.AuthorizeTenant(e.Permission, &req)
	}
	return req, err
}

// Operation describes the subject of e.
func (e Endpoint[Req, Res]) Operation() Operation {
	return Operation{RequestReply, e.Subject, e.Summary, e.Permission, reflect.TypeFor[Req](), reflect.TypeFor[Res]()}
}
