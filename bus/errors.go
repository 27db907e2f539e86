package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// visible returns the error that a caller receives for err: the declared one that err
// wraps, or else one that hides internals.
func visible(err error) *schemas.Error {
	var known *schemas.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return schemas.ErrTimeout.Because("the worker did not finish within the deadline of the request")
	case errors.Is(err, context.Canceled):
		return schemas.ErrUnavailable.Because("the worker is stopping")
	case unavailable(err):
		return schemas.ErrUnavailable.Because("NATS is unavailable to the worker")
	default:
		return schemas.ErrInternal.Because("an unexpected error; the log of the worker has it under the request_id")
	}
}

// unavailable reports whether err means that the server or its JetStream cannot be
// reached.
func unavailable(err error) bool {
	for _, known := range []error{nats.ErrNoResponders, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrDisconnected,
		nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting, jetstream.ErrNoStreamResponse} {
		if errors.Is(err, known) {
			return true
		}
	}
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.Code == schemas.ErrUnavailable.Status
}

// fail replies with err.
func (s *Service) fail(ctx context.Context, r *nats.Msg, err error) {
	s.refuse(ctx, r, visible(err), err, nats.Header{})
}

// refuse replies with e, the visible form of err, and the headers.
func (s *Service) refuse(ctx context.Context, r *nats.Msg, e *schemas.Error, err error, header nats.Header) {
	e = s.report(ctx, r.Subject, e, err, loggedByClient(r, e, header))
	body, err := json.Marshal(e)
	if err != nil || s.fits(len(body)) != nil {
		bare := schemas.Error{Type: e.Type, Title: e.Title, Status: e.Status, Code: e.Code, RequestID: e.RequestID}
		body, _ = json.Marshal(bare) // fixed strings: cannot fail
	}
	header.Set(micro.ErrorHeader, e.Title)
	header.Set(micro.ErrorCodeHeader, strconv.Itoa(e.Status))
	s.respond(ctx, r, body, header)
}

// respond publishes the reply.
func (s *Service) respond(ctx context.Context, r *nats.Msg, body []byte, header nats.Header) {
	if r.Reply == "" {
		return
	}
	if err := s.conn.nc.PublishMsg(&nats.Msg{Subject: r.Reply, Header: header, Data: body}); err != nil {
		s.log.WarnContext(ctx, "reply not sent", "subject", r.Subject, "err", err)
	}
}

// report returns e with the request ID of ctx and logs err, unless the caller or
// another worker does: faults of this system are logged once, as warnings and errors,
// and those of callers at debug level. The metrics count a CallerError as a malformed
// request.
func (s *Service) report(ctx context.Context, subject string, e *schemas.Error, err error, loggedByClient bool) *schemas.Error {
	c := *e
	c.RequestID = RequestID(ctx)
	counted := c.Status
	var fault callerError
	if errors.As(err, &fault) {
		counted = schemas.ErrMalformed.Status
	}
	telemetry.Failed(ctx, counted, c.Code)
	switch {
	case loggedByClient:
	case isClientError(counted) || Logged(err):
		s.log.DebugContext(ctx, "request refused", "subject", subject, "err", err)
	case c.Status == schemas.ErrUnavailable.Status:
		s.log.WarnContext(ctx, "request refused", "subject", subject, "err", err)
	default:
		s.log.ErrorContext(ctx, "request failed", "subject", subject, "err", err)
	}
	return &c
}

// PartError returns the error that the caller of the request of ctx receives for err, the
// failure of a part of the request. A fault of this system is logged.
func PartError(ctx context.Context, err error) *schemas.Error {
	e := visible(err)
	r, ok := ctx.Value(servingKey{}).(*serving)
	if !ok || isClientError(e.Status) {
		return e
	}
	return r.service.report(ctx, r.subject, e, err, false)
}

// isClientError reports whether an error of the status is the caller's fault.
func isClientError(status int) bool {
	return status < 500 || status == schemas.ErrNotImplemented.Status
}

// CallerError marks err, an error whose status in the contract is 500 or more, as the
// caller's fault.
func CallerError(err error) error { return callerError{err} }

type callerError struct{ error }

// Unwrap returns the marked error.
func (e callerError) Unwrap() error { return e.error }

// loggedByClient reports whether the caller logs the error: a client of this package logs
// client errors, busy workers, whose requests it retries, and for timeouts, which
// end at the same time on both sides.
func loggedByClient(r *nats.Msg, e *schemas.Error, reply nats.Header) bool {
	client := r.Header.Get(HeaderHeartbeat) != "" || r.Header.Get(HeaderWindow) != ""
	return client && (isClientError(e.Status) || e.Status == schemas.ErrTimeout.Status || reply.Get(HeaderBusy) != "")
}

// loggedError is an error that a worker has logged.
type loggedError struct{ error }

// Unwrap returns the declared error.
func (e loggedError) Unwrap() error { return e.error }

// Logged reports whether the worker that returned err has logged it.
func Logged(err error) bool {
	var logged loggedError
	return errors.As(err, &logged)
}

// recovered, deferred, replies to a request whose handler panicked.
func (s *Service) recovered(ctx context.Context, r *nats.Msg) {
	if p := recover(); p != nil {
		s.fail(ctx, r, Recovered(p))
	}
}

func tooLarge(size, most int) error {
	return schemas.ErrTooLarge.Because(fmt.Sprintf("expected at most %d bytes, got %d", most, size))
}

// fits returns an error if a reply of size bytes exceeds max_payload.
func (s *Service) fits(size int) error {
	if most := s.conn.nc.MaxPayload(); int64(size) > most-headerRoom {
		return schemas.ErrInternal.Because(fmt.Sprintf(
			"the reply has %d bytes, more than max_payload (%d); request less, for example with a smaller top_k or limit", size, most))
	}
	return nil
}

// maxBusyRetries is the maximum number of retries of a request that a busy worker rejected.
// Of two workers, the free one then receives it in 31 of 32 cases.
const maxBusyRetries = 5

// isBusy reports whether msg is the refusal of a busy worker.
func isBusy(msg *nats.Msg) bool { return msg.Header.Get(HeaderBusy) != "" }

// busyError is the refusal of a request that no worker has handled.
type busyError struct{ error }

// Unwrap returns the declared error.
func (e busyError) Unwrap() error { return e.error }

// Busy reports whether err means that every worker was busy: the request was not handled and
// may be repeated.
func Busy(err error) bool {
	var refused busyError
	return errors.As(err, &refused)
}

// readError returns the error that a reply carries in micro's headers, nil if it
// carries none. It unwraps to the declared error that the worker returned.
func readError(msg *nats.Msg) error {
	status := msg.Header.Get(micro.ErrorCodeHeader)
	if status == "" {
		return nil
	}
	var e schemas.Error
	err := json.Unmarshal(msg.Data, &e)
	row := schemas.Declared(e.Code)
	if err != nil || row == nil {
		return schemas.ErrInternal.Because(msg.Header.Get(micro.ErrorHeader))
	}
	e.Type, e.Title, e.Status = row.Type, row.Title, row.Status
	if isBusy(msg) {
		return busyError{&e}
	}
	ownLog := isClientError(e.Status) || e.Status == schemas.ErrTimeout.Status
	if ownLog || e.RequestID == "" { // a third-party worker returns no request_id
		return &e
	}
	return loggedError{&e}
}
