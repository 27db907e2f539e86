package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

const (
	// heartbeat is how often a worker shows that its stream is alive. One that
	// reaches nobody ends the work: a caller that leaves before it knows where
	// to say so is found out within the second.
	heartbeat = 500 * time.Millisecond
	// silence is how long a caller waits for any sign of life.
	silence = 6 * time.Second
	// firstSign is how long TryRun waits for the first of them, which a worker gives
	// at once, if it has processor time.
	firstSign = 2 * time.Second
	// grace is how long a caller waits past the deadline, so that the worker's
	// own word on the timeout arrives.
	grace = 2 * time.Second
	// headerRoom is what the headers of a message may take of max_payload.
	headerRoom = 4 << 10
	// window is how many events a worker may be ahead of what a caller has read,
	// who says so after every half of it, and when more than readTime has passed.
	// A slow one so slows the worker down, and costs no more than that in memory.
	window   = 128
	readTime = time.Second
	// backlog is how many messages may wait for a caller who does not slow the
	// worker down; what comes then is dropped, and read again if it is kept.
	backlog = 2 * window
	// stall is how long a worker waits for a caller that reads nothing.
	stall = 10 * time.Second
	// chunkSize is the most that one message of an upload carries.
	chunkSize = 1 << 20
)

// Stream is a subject on which a Req is answered by events, the last of them
// done. Any NATS client can read it: the events go to the reply subject.
type Stream[Req any] struct {
	Subject string
	// Invalid is the error for a request that cannot be read or is not valid.
	Invalid *schemas.Error
	// Permission is the permission that the caller must have; empty admits everyone.
	Permission schemas.Permission
	// Timeout bounds the whole stream.
	Timeout time.Duration
	// Grace is how long a run goes on when nobody listens.
	Grace time.Duration
	// Runs is the most requests in progress that one credential may have at a
	// worker; 0: any number. One more is schemas.ErrTooManyRequests.
	Runs int
	// MaxBody is the largest request, in bytes.
	MaxBody int
	// Admit, unless nil, admits a request by the size of its body in bytes, before
	// the body is received. The handler gets the context that it returns, and
	// release is called when the handler has returned. On an error the caller tries
	// other workers.
	Admit func(ctx context.Context, size int) (admitted context.Context, release func(), err error)
	// Errors says an error in the words of the stream's contract; nil: as it is.
	Errors func(*schemas.Error) *schemas.Error
}

// Event is one event of a stream.
type Event struct {
	Type     string
	Sequence uint64 // from 1
	Data     []byte // JSON
}

// Call asks req and yields the events as they come, done included. A failure
// is yielded once, as the last thing; when nothing came before it, no stream
// began. Leaving the loop, or ending ctx, cancels the worker.
func (s Stream[Req]) Call(ctx context.Context, c *Conn, req Req) iter.Seq2[Event, error] {
	body, err := json.Marshal(req)
	if err != nil {
		return func(yield func(Event, error) bool) { yield(Event{}, err) }
	}
	return s.Forward(ctx, c, body)
}

// Forward asks with a body that is already JSON. A body beyond the server's
// max_payload is sent in chunks, to the worker alone.
func (s Stream[Req]) Forward(ctx context.Context, c *Conn, body []byte) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) { return s.listen(ctx, c, body, c.nc.NewInbox(), false) })
}

// follow yields what a listener hears until the stream ends.
func (s Stream[Req]) follow(open func() (*listener, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := open()
		if err != nil {
			yield(Event{}, s.say(err))
			return
		}
		defer l.leave()
		for {
			event, err := l.next()
			if errors.Is(err, errHeard) {
				return
			}
			if err != nil {
				yield(Event{}, s.say(err))
				return
			}
			if !yield(event, nil) || event.Type == schemas.EventDone {
				return
			}
		}
	}
}

// say is an error of the bus in the words of the stream's contract.
func (s Stream[Req]) say(err error) error {
	var e *schemas.Error
	switch {
	case !errors.As(err, &e):
		return err
	case errors.Is(err, ErrUnheard):
		return fmt.Errorf("%w: %w", ErrUnheard, s.row(e))
	case Logged(err):
		return loggedError{s.row(e)}
	default:
		return s.row(e)
	}
}

// row is what a caller of the stream sees of err.
func (s Stream[Req]) row(err error) *schemas.Error {
	if s.Errors == nil {
		return visible(err)
	}
	return s.Errors(visible(err))
}
