package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus/bucket"
	"cairn/schemas"
)

// visible returns the error that a caller receives for err: the declared one that err
// wraps, or else one that hides internals.
func visible(err error) *schemas.Error {
	var declared *schemas.Error
	switch {
	case errors.As(err, &declared):
		return declared
	case errors.Is(err, context.DeadlineExceeded):
		return schemas.ErrTimeout.Because("the worker did not finish within the deadline of the request")
	case errors.Is(err, context.Canceled):
		return schemas.ErrUnavailable.Because("the worker is stopping")
	case unavailable(err):
		return schemas.ErrUnavailable.Because("NATS is unavailable to the worker")
	default:
		return schemas.ErrInternal.Because("unexpected error; see the worker log for this request_id")
	}
}

// unavailable reports whether err means that the server or its JetStream cannot be reached.
func unavailable(err error) bool {
	refused, ok := errors.AsType[*jetstream.APIError](err)
	return bucket.NoReply(err) || errors.Is(err, nats.ErrConnectionClosed) ||
		ok && refused.Code == schemas.ErrUnavailable.Status
}

// isClientError reports whether an error of the status is the caller's fault.
func isClientError(status int) bool {
	return status < 500 || status == schemas.ErrNotImplemented.Status
}

// taggedError joins an error and a sentinel for errors.Is.
type taggedError struct {
	error
	sentinel error
}

func (e taggedError) Unwrap() []error { return []error{e.error, e.sentinel} }

// Sentinels of tagged errors.
var (
	errCaller = errors.New("the caller's fault")
	errLogged = errors.New("logged by a worker")
	errBusy   = errors.New("not handled by any worker")
)

// CallerError classifies err, whose status in the contract is 500 or more, as the caller's fault
// in logs and metrics.
func CallerError(err error) error { return taggedError{err, errCaller} }

// Logged reports whether the worker that returned err has logged it.
func Logged(err error) bool { return errors.Is(err, errLogged) }

// Busy reports whether err means that every worker was busy: no worker has handled the request, so
// it can be retried.
func Busy(err error) bool { return errors.Is(err, errBusy) }

func tooLarge(size, limit int) error {
	return schemas.ErrTooLarge.Because(fmt.Sprintf("expected at most %d bytes, got %d", limit, size))
}

// isBusy reports whether msg is the refusal of a busy worker.
func isBusy(msg *nats.Msg) bool { return msg.Header.Get(HeaderBusy) != "" }

// noResponders reports whether msg is the server's status for a message without a subscriber.
func noResponders(msg *nats.Msg) bool {
	return len(msg.Data) == 0 && msg.Header.Get("Status") == "503"
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
		return taggedError{&e, errBusy}
	}
	ownLog := isClientError(e.Status) || e.Status == schemas.ErrTimeout.Status
	if ownLog || e.RequestID == "" { // a third-party worker returns no request_id
		return &e
	}
	return taggedError{&e, errLogged}
}
