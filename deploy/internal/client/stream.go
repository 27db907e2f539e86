package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/tmaxmax/go-sse"

	"cairn/bus"
	"cairn/schemas"
)

const (
	analyzePath = "/api/v1/analyze"
	// maxResumes is the maximum number of times that a stream is resumed. The attempts
	// take about as long as the server keeps an abandoned analysis.
	maxResumes = 5
	// resumeInterval is the delay before each attempt.
	resumeInterval = time.Second
	// cancelTimeout bounds the request that cancels an analysis.
	cancelTimeout = 2 * time.Second
)

// maxEvent is the maximum size of an event, in bytes: that of a message on the bus.
const maxEvent = 8 << 20

// Event is one server-sent event.
type Event struct {
	id   string
	Kind string
	Data []byte
}

// events reads an event stream.
func events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range sse.Read(r, &sse.ReadConfig{MaxEventSize: maxEvent}) {
			if !yield(Event{e.LastEventID, e.Type, []byte(e.Data)}, err) {
				return
			}
		}
	}
}

// Stream is the event stream of an analysis. It is resumed after a lost connection.
type Stream struct {
	client *HTTP
	first  *http.Response
	take   func(Event) error
	run    string // run ID to resume; empty: not resumable
	last   string // ID of the last event
	done   bool
}

// NewStream returns the stream that starts with res, whose events are passed to take. ToEnd
// closes it.
func NewStream(c *HTTP, res *http.Response, take func(Event) error) *Stream {
	return &Stream{client: c, first: res, take: take, run: res.Header.Get(bus.HeaderRun)}
}

// errInterrupted is returned when the connection is lost before the last event.
var errInterrupted = errors.New("the event stream was interrupted")

// ToEnd reads the stream and closes it. It resumes the stream after interruptions.
func (s *Stream) ToEnd(ctx context.Context) error {
	err := s.read(s.first)
	for n := 0; n < maxResumes && errors.Is(err, errInterrupted) && s.run != ""; n++ {
		select {
		case <-time.After(resumeInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
		if res, back := s.resume(ctx); back == nil {
			err = s.read(res)
		}
	}
	return err
}

// Complete reports whether the last event was read.
func (s *Stream) Complete() bool { return s.done }

// resume requests the events after the last one.
func (s *Stream) resume(ctx context.Context) (*http.Response, error) {
	if s.last == "" {
		return s.client.Open(ctx, http.MethodGet, s.path(), nil)
	}
	return s.client.Open(ctx, http.MethodGet, s.path(), nil, "Last-Event-ID", s.last)
}

func (s *Stream) path() string { return analyzePath + "/" + s.run }

// read passes the events of one response to take and closes the response.
func (s *Stream) read(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		_ = res.Body.Close()
		return errors.New("incomplete answer: " + s.client.URL + " has no further events")
	default:
		_, err := s.client.read(res)
		return err
	}
	defer func() { _ = res.Body.Close() }()
	for e, err := range events(res.Body) {
		if err != nil {
			return fmt.Errorf("%w: %w", errInterrupted, s.client.requestError(err))
		}
		s.last, s.done = e.id, e.Kind == schemas.EventDone
		if err := s.take(e); err != nil || s.done {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errInterrupted, s.client.requestError(io.ErrUnexpectedEOF))
}

// cancel cancels the analysis if ctx has ended before the last event.
func (s *Stream) cancel(ctx context.Context) {
	if ctx.Err() == nil || s.done || s.run == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if res, err := s.client.Open(ctx, http.MethodDelete, s.path(), nil); err == nil {
		_ = res.Body.Close() // if the request fails, the server stops the abandoned analysis later
	}
}
