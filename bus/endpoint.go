package bus

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/bus/overload"
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
	Subject string
	// Summary describes the operation in one line.
	Summary string
	// Invalid is the error for a request that cannot be read or is not valid.
	Invalid *schemas.Error
	// Permission is the permission that the caller must have; empty admits everyone.
	Permission schemas.Permission
}

// Reply is the reply to a request, with its JSON body not decoded.
type Reply struct {
	Body    []byte
	Token   schemas.ConsistencyToken   // of a write or of the record that was read; else the zero token
	Ignored []schemas.ConsistencyToken // tokens of the request that belong to another catalog
}

// Call sends req and returns the reply. It waits at most 15 seconds, not beyond
// ctx's deadline, and at most 2.5 seconds without a heartbeat of a worker; a read is
// retried meanwhile (see Conn.roundTrip). A request that was not delivered is sent again
// (see Conn). The error is a *schemas.Error or ctx's error.
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
	request := newMessage(ctx, e.Subject, body) // before WithTimeout: the worker applies callTimeout itself
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var msg *nats.Msg
	send := func() (err error) {
		msg, err = c.roundTrip(ctx, request, e.reads())
		return err
	}
	if err = c.deliver(ctx, e.Subject, e.sendAgain, send); err != nil {
		return Reply{}, transportError(e.Subject, err)
	}
	return readReply(msg)
}

// reads reports whether a request has no effect and may be performed twice.
func (e Endpoint[Req, Res]) reads() bool { return e.Permission == schemas.PermissionRead }

// sendAgain reports whether a request that failed with err waits for the end of an outage:
// one that was not delivered, and a read. A health check reports the outage.
func (e Endpoint[Req, Res]) sendAgain(err error) bool {
	return !strings.HasPrefix(e.Subject, healthSubjects) && (undelivered(err) || e.reads() && errors.Is(err, errConnectionLost))
}

// endSpan ends the span of a request that returned err.
func endSpan(span telemetry.Span, err error) {
	if err != nil {
		var e *schemas.Error
		if errors.As(err, &e) {
			span.Answered(e.Status, e.Code)
		}
	}
	span.End()
}

func readReply(msg *nats.Msg) (Reply, error) {
	if err := readError(msg); err != nil {
		return Reply{}, err
	}
	reply := Reply{Body: msg.Data, Ignored: tokens(msg.Header.Get(HeaderIgnoredRevision))}
	if text := msg.Header.Get(HeaderRevision); text != "" {
		reply.Token, _ = schemas.ParseConsistencyToken(text) // malformed: the zero token
	}
	return reply, nil
}

// Serve answers the endpoint's requests with handle, concurrently, until s stops.
func (e Endpoint[Req, Res]) Serve(s *Service, handle func(context.Context, Req) (Res, error)) error {
	return s.add(e.on(s.gate), e.handler(s, handle))
}

// ServeHealthCheck is like Serve, but with slots that other requests cannot use, so that health
// checks are answered under load.
func (e Endpoint[Req, Res]) ServeHealthCheck(s *Service, handle func(context.Context, Req) (Res, error)) error {
	return s.add(e.on(s.healthGate), e.handler(s, handle))
}

func (e Endpoint[Req, Res]) on(gate *overload.Gate) endpoint {
	return endpoint{
		subject: e.Subject, summary: e.Summary, request: reflect.TypeFor[Req](), response: reflect.TypeFor[Res](),
		timeout: callTimeout, mapError: visible, permission: e.Permission, gate: gate,
	}
}

func (e Endpoint[Req, Res]) handler(s *Service, handle func(context.Context, Req) (Res, error)) func(context.Context, request) {
	return func(ctx context.Context, r request) {
		defer s.recovered(ctx, r.Msg)
		defer s.heartbeats(r.Msg).stop()
		if r.denied != nil {
			s.fail(ctx, r.Msg, r.denied)
			return
		}
		if len(r.Data) > MaxBody {
			s.fail(ctx, r.Msg, tooLarge(len(r.Data), MaxBody))
			return
		}
		req, err := schemas.Decode[Req](r.Data, e.Invalid)
		if err == nil {
			err = r.by.AuthorizeTenant(e.Permission, &req)
		}
		if err != nil {
			s.fail(ctx, r.Msg, err)
			return
		}
		if !r.slot.Account(ShareKey(r.by, &req)) || !r.slot.Start(ctx) {
			err := busy(e.Subject)
			s.refuse(ctx, r.Msg, err, err, nats.Header{HeaderBusy: {"1"}})
			return
		}
		res, err := handle(ctx, req)
		if err != nil {
			s.fail(ctx, r.Msg, err)
			return
		}
		s.answer(ctx, r.Msg, res)
	}
}

// encode returns res as JSON. The output of a json.Marshaler is not validated again.
func encode(res any) ([]byte, error) {
	if m, ok := res.(json.Marshaler); ok {
		return m.MarshalJSON()
	}
	return json.Marshal(res, json.Deterministic(true))
}

// answer sends res as JSON.
func (s *Service) answer(ctx context.Context, r *nats.Msg, res any) {
	body, err := encode(res)
	if err == nil {
		err = s.fits(len(body))
	}
	if err != nil {
		s.fail(ctx, r, err)
		return
	}
	header := nats.Header{}
	if w, ok := res.(interface {
		CatalogRevision() schemas.ConsistencyToken
	}); ok {
		header.Set(HeaderRevision, w.CatalogRevision().String())
	}
	if ignored := IgnoredTokens(ctx); ignored != "" {
		header.Set(HeaderIgnoredRevision, ignored)
	}
	s.respond(ctx, r, body, header)
}
