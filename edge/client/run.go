package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tmaxmax/go-sse"

	"cairn/schemas"
)

const (
	analyzePath = "/api/v1/analyze"
	// maxResumes is the maximum number of consecutive attempts to resume a stream. They
	// take about as long as the grace period of an abandoned analysis.
	maxResumes = 5
	// resumeInterval is the delay before each attempt.
	resumeInterval = time.Second
	// cancelTimeout bounds the request that cancels an abandoned analysis.
	cancelTimeout = 2 * time.Second
	// maxEvent is the maximum size of an event, in bytes: that of a message on the bus.
	maxEvent = 8 << 20
)

// Event is one event of an analysis.
type Event struct {
	ID   string         // for Follow; empty: none
	Type string         // one of schemas.EventTextDelta, …
	Data jsontext.Value // such as a schemas.TextDelta
}

// Decode decodes the data of the event into v.
func (e Event) Decode(v any) error {
	if err := json.Unmarshal(e.Data, v); err != nil {
		return fmt.Errorf("decode event %s: %w", e.Type, err)
	}
	return nil
}

// ErrIncomplete is returned when a stream has no further events although its last one,
// schemas.EventDone, was not received.
var ErrIncomplete = errors.New("incomplete answer: no further events")

// errInterrupted is the error of a connection that is lost before the last event.
var errInterrupted = errors.New("the event stream was interrupted")

// Run is an analysis whose events are read. Its methods must not be called concurrently.
type Run struct {
	// ID identifies the run for Follow and CancelRun; empty if it cannot be resumed.
	ID string

	c       *Client
	ctx     context.Context //nolint:containedctx // of the stream, as in http.Request
	body    io.ReadCloser   // of the current response
	last    string          // ID of the last event
	persist bool            // the run continues after its client disconnects
	done    bool
}

func runPath(run string) string { return analyzePath + "/" + url.PathEscape(run) }

// Events returns the events up to the last one, schemas.EventDone, and closes the run. It
// resumes the stream after a lost connection. A loop that ends earlier, or the end of the
// context, cancels the analysis, unless the run is followed or continues without clients.
func (r *Run) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer func() { _ = r.Close() }()
		for resumes := 0; ; {
			before := r.last
			err := r.read(yield)
			if err == nil {
				return
			}
			if r.last != before {
				resumes = 0
			}
			for ; err != nil && r.resumable(err) && resumes < maxResumes; resumes++ {
				if !r.c.wait(r.ctx, resumeInterval) {
					err = r.ctx.Err()
					break
				}
				r.c.retries.Add(1)
				if resumeErr := r.resume(); resumeErr == nil || !r.resumable(resumeErr) {
					err = resumeErr
				}
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// resumable reports whether the stream may continue after err.
func (r *Run) resumable(err error) bool {
	var lost *TransportError
	status := statusOf(err)
	return r.ID != "" && r.ctx.Err() == nil && (errors.Is(err, errInterrupted) ||
		errors.As(err, &lost) || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout)
}

// resume requests the events after the last one.
func (r *Run) resume() error {
	h := http.Header{}
	if r.last != "" {
		h.Set("Last-Event-ID", r.last)
	}
	res, err := r.c.attempt(r.ctx,
		request{method: http.MethodGet, path: runPath(r.ID), header: h, idempotent: true, stream: true})
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusNoContent {
		_ = res.Body.Close()
		return ErrIncomplete
	}
	r.body = res.Body
	return nil
}

// read passes the events of the current response to yield. It returns nil after the last
// event, and when yield returns false.
func (r *Run) read(yield func(Event, error) bool) error {
	if r.body == nil {
		return ErrIncomplete
	}
	defer r.closeBody()
	for e, err := range sse.Read(r.body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return fmt.Errorf("%w: %w", errInterrupted, r.c.transportError(err))
		}
		r.last, r.done = e.LastEventID, e.Type == schemas.EventDone
		if !yield(Event{e.LastEventID, e.Type, jsontext.Value(e.Data)}, nil) || r.done {
			return nil
		}
	}
	return fmt.Errorf("%w: %w", errInterrupted, r.c.transportError(io.ErrUnexpectedEOF))
}

func (r *Run) closeBody() {
	_ = r.body.Close() // it was read to its end, or is abandoned
	r.body = nil
}

// Close ends the stream. It cancels an analysis whose last event was not received, unless
// the run is followed or continues without clients.
func (r *Run) Close() error {
	if r.body != nil {
		r.closeBody()
	}
	if r.done || r.persist || r.ID == "" {
		return nil
	}
	r.done = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), cancelTimeout)
	defer cancel()
	res, err := r.c.send(ctx, request{method: http.MethodDelete, path: runPath(r.ID), idempotent: true})
	if err != nil {
		return err // the server cancels the abandoned analysis later
	}
	return res.Body.Close()
}
