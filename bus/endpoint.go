package bus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

const (
	// callTimeout bounds every request.
	callTimeout = 10 * time.Second
	// MaxBody is the largest body of a request, in bytes.
	MaxBody = 1 << 20
)

// Endpoint is a subject that answers each Req with one Res.
type Endpoint[Req, Res any] struct {
	Subject string
	// Invalid is the error for a request that cannot be read or is not valid.
	Invalid *schemas.Error
	// Permission is the permission that the caller must have; empty admits everyone.
	Permission schemas.Permission
}

// Reply is a reply as it was received.
type Reply struct {
	Body     []byte
	Revision uint64 // of the catalog after a write; else 0
}

// Call sends req and returns the reply. It waits at most 10 seconds, not beyond
// ctx's deadline, and at most 2.5 seconds without a heartbeat of a worker; a read is
// retried meanwhile (see Conn.roundTrip). The error is a *schemas.Error or ctx's error.
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

// Forward is Call with a body that is already JSON, and returns the reply as it is.
func (e Endpoint[Req, Res]) Forward(ctx context.Context, c *Conn, body []byte) (_ Reply, err error) {
	if !c.Connected() {
		return Reply{}, schemas.ErrUnavailable.Because("NATS is unavailable")
	}
	ctx, span := telemetry.StartRequest(ctx, e.Subject)
	defer func() { endSpan(span, err) }()
	request := newMessage(ctx, e.Subject, body) // before WithTimeout: the worker applies callTimeout itself
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	lost := c.lost()
	defer context.AfterFunc(lost, cancel)()
	msg, err := c.roundTrip(ctx, request, e.Permission == schemas.PermissionRead)
	switch {
	case err != nil && lost.Err() != nil:
		return Reply{}, schemas.ErrUnavailable.Because("the connection to NATS was lost")
	case err != nil:
		return Reply{}, transportError(e.Subject, err)
	}
	return readReply(msg)
}

// endSpan ends the span of a request that returned err.
func endSpan(span telemetry.Span, err error) {
	var e *schemas.Error
	if errors.As(err, &e) {
		span.Answered(e.Status, e.Code)
	}
	span.End()
}

func readReply(msg *nats.Msg) (Reply, error) {
	if err := readError(msg); err != nil {
		return Reply{}, err
	}
	revision, _ := strconv.ParseUint(msg.Header.Get(HeaderRevision), 10, 64) // absent: 0
	return Reply{Body: msg.Data, Revision: revision}, nil
}

// Serve answers the endpoint's requests with handle, concurrently, until s stops.
func (e Endpoint[Req, Res]) Serve(s *Service, handle func(context.Context, Req) (Res, error)) error {
	return s.add(endpoint{e.Subject, callTimeout, visible, e.Permission, s.gate, nil}, e.handler(s, handle))
}

// ServeHealthCheck is Serve with slots apart from those of other requests, so that health
// checks are answered under load.
func (e Endpoint[Req, Res]) ServeHealthCheck(s *Service, handle func(context.Context, Req) (Res, error)) error {
	return s.add(endpoint{e.Subject, callTimeout, visible, e.Permission, s.healthGate, nil}, e.handler(s, handle))
}

func (e Endpoint[Req, Res]) handler(s *Service, handle func(context.Context, Req) (Res, error)) func(context.Context, request) {
	return func(ctx context.Context, r request) {
		defer s.recovered(ctx, r.Request)
		defer s.heartbeats(r.Headers().Get, r.Reply()).stop()
		if r.denied != nil {
			s.fail(ctx, r, r.denied)
			return
		}
		if len(r.Data()) > MaxBody {
			s.fail(ctx, r, tooLarge(len(r.Data()), MaxBody))
			return
		}
		req, err := schemas.Decode[Req](r.Data(), e.Invalid)
		if err == nil {
			err = r.by.AuthorizeTenant(e.Permission, &req)
		}
		if err != nil {
			s.fail(ctx, r, err)
			return
		}
		if !r.slot.Account(ShareKey(r.by, &req)) || !r.slot.Start(ctx) {
			err := busy(e.Subject)
			s.refuse(ctx, r.Request, err, err, nats.Header{HeaderBusy: {"1"}})
			return
		}
		res, err := handle(ctx, req)
		if err != nil {
			s.fail(ctx, r, err)
			return
		}
		s.answer(ctx, r.Request, res)
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
func (s *Service) answer(ctx context.Context, r micro.Request, res any) {
	body, err := encode(res)
	if err == nil {
		err = s.fits(len(body))
	}
	if err != nil {
		s.fail(ctx, r, err)
		return
	}
	var header nats.Header
	if w, ok := res.(interface{ CatalogRevision() uint64 }); ok {
		header = nats.Header{HeaderRevision: {strconv.FormatUint(w.CatalogRevision(), 10)}}
	}
	s.respond(ctx, r, body, header)
}
