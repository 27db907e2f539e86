package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus/replay"
	"cairn/schemas"
)

const (
	// claimTimeout is the timeout of TryRun for the first heartbeat, which a worker
	// sends at once.
	claimTimeout = 2 * time.Second
	// timeoutMargin is the time that a client waits after the deadline for the worker's
	// timeout error.
	timeoutMargin = 2 * time.Second
	// headerRoom is the part of max_payload that is reserved for headers, in bytes.
	headerRoom = 4 << 10
	// window is the flow-control window in events. A client acknowledges after each
	// half of it, and when ackInterval has passed since the last acknowledgement.
	window      = 128
	ackInterval = time.Second
	// backlog is the buffer size of a client in messages; further ones are dropped, and
	// replayed if the stream is a run.
	backlog = 2 * window
	// stallTimeout is the timeout of a worker for acknowledgements of a slow client.
	stallTimeout = 10 * time.Second
	// chunkSize is the size of an upload's messages in bytes.
	chunkSize = 512 << 10
	// maxInline is the largest body that goes with the request of a run, in bytes. A larger
	// one is sent when a worker has admitted the request.
	maxInline = 256 << 10
)

// Stream is a subject that answers each Req with events, the last of type done. Any
// NATS client can read it: the events go to the reply subject.
type Stream[Req any] struct {
	Subject string
	// Summary describes the stream in one line.
	Summary string
	// Invalid is the error for a request that cannot be read or is not valid.
	Invalid *schemas.Error
	// Permission is the permission that the caller must have; empty admits everyone.
	Permission schemas.Permission
	// Timeout bounds the whole stream.
	Timeout time.Duration
	// Grace is the grace period of a run without a client.
	Grace time.Duration
	// Runs bounds the requests in progress of one credential at a worker; 0: no
	// limit. Further ones fail with schemas.ErrTooManyRequests.
	Runs int
	// MaxBody is the largest request, in bytes.
	MaxBody int
	// Admit, unless nil, admits a request by the size of its body in bytes, before
	// the body is received. The handler gets the context that it returns, and
	// release is called when the handler has returned. On an error the client tries
	// other workers.
	Admit func(ctx context.Context, size int) (admitted context.Context, release func(), err error)
	// Errors maps an error to one of the stream's contract; nil: unchanged.
	Errors func(*schemas.Error) *schemas.Error
}

// Event is one event of a stream.
type Event = replay.Event

// Call sends req and yields the events as they arrive, done included. An error is
// yielded once, last; if it comes first, no stream has started. Leaving the loop, or
// ending ctx, cancels the worker.
func (s Stream[Req]) Call(ctx context.Context, c *Conn, req Req) iter.Seq2[Event, error] {
	body, err := json.Marshal(req)
	if err != nil {
		return func(yield func(Event, error) bool) { yield(Event{}, err) }
	}
	return s.Forward(ctx, c, body)
}

// Forward is Call with a body that is already JSON. A body beyond the server's
// max_payload is sent in chunks to the worker that took the request.
func (s Stream[Req]) Forward(ctx context.Context, c *Conn, body []byte) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) { return s.listen(ctx, c, body, c.nc.NewInbox(), false) })
}

// follow yields the events of a listener until the stream ends.
func (s Stream[Req]) follow(open func() (*listener, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := open()
		if err != nil {
			yield(Event{}, s.translate(err))
			return
		}
		defer l.close()
		for {
			event, err := l.next()
			if errors.Is(err, errComplete) {
				return
			}
			if err != nil {
				yield(Event{}, s.translate(err))
				return
			}
			if !yield(event, nil) || event.Type == schemas.EventDone {
				return
			}
		}
	}
}

// translate maps an error of the bus to the stream's contract.
func (s Stream[Req]) translate(err error) error {
	var e *schemas.Error
	switch {
	case !errors.As(err, &e):
		return err
	case errors.Is(err, ErrUnclaimed):
		return fmt.Errorf("%w: %w", ErrUnclaimed, s.mapError(e))
	case errors.Is(err, ErrInterrupted):
		return fmt.Errorf("%w: %w", ErrInterrupted, s.mapError(e))
	case Logged(err):
		return loggedError{s.mapError(e)}
	default:
		return s.mapError(e)
	}
}

// mapError returns the error of the stream's contract that a caller receives for err.
func (s Stream[Req]) mapError(err error) *schemas.Error {
	if s.Errors == nil {
		return visible(err)
	}
	return s.Errors(visible(err))
}
