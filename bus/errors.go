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
	var refused *jetstream.APIError
	return bucket.NoReply(err) || errors.Is(err, nats.ErrConnectionClosed) ||
		errors.As(err, &refused) && refused.Code == schemas.ErrUnavailable.Status
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

// loggedError is an error that a worker has logged.
type loggedError struct{ error }

// Unwrap returns the declared error.
func (e loggedError) Unwrap() error { return e.error }

// Logged reports whether the worker that returned err has logged it.
func Logged(err error) bool {
	var logged loggedError
	return errors.As(err, &logged)
}

func tooLarge(size, most int) error {
	return schemas.ErrTooLarge.Because(fmt.Sprintf("expected at most %d bytes, got %d", most, size))
}

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
