package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"cairn/schemas"
)

const (
	// returns is how often an answer that was cut off is come back to: for about
	// as long as the analysis waits for that.
	maxResumes = 5
	// resumeInterval is before each time.
	resumeInterval = time.Second
	// cancelTimeout bounds the word that nobody waits for the answer.
	cancelTimeout = 2 * time.Second
)

// following is an answer that is read to its end, over several connections
// when the first ones are interrupted.
type eventStream struct {
	client
	take func(event) error
	run  string // to resume; empty: it cannot be resumed
	last string // id of the last event
	done bool
}

// errInterrupted is returned when the connection is lost before the last event.
var errInterrupted = errors.New("the event stream was interrupted")

// toEnd reads the answer that begins with res.
func (f *eventStream) toEnd(ctx context.Context, res *http.Response) error {
	err := f.read(res)
	for n := 0; n < maxResumes && errors.Is(err, errInterrupted) && f.run != ""; n++ {
		select {
		case <-time.After(resumeInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
		if res, back := f.resume(ctx); back == nil {
			err = f.read(res)
		}
	}
	return err
}

// resume requests the events after the last one.
func (f *eventStream) resume(ctx context.Context) (*http.Response, error) {
	if f.last == "" {
		return f.open(ctx, http.MethodGet, f.path(), nil)
	}
	return f.open(ctx, http.MethodGet, f.path(), nil, "Last-Event-ID", f.last)
}

func (f *eventStream) path() string { return "/api/v1/analyze/" + f.run }

// read hands on the events of one response, and closes it.
func (f *eventStream) read(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		_ = res.Body.Close()
		return errors.New("incomplete answer: " + f.url + " has no further events")
	default:
		_, err := f.client.read(res)
		return err
	}
	defer func() { _ = res.Body.Close() }()
	for e, err := range events(res.Body) {
		if err != nil {
			return fmt.Errorf("%w: %w", errInterrupted, f.requestError(err))
		}
		f.last, f.done = e.id, e.kind == schemas.EventDone
		if err := f.take(e); err != nil || f.done {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errInterrupted, f.requestError(io.ErrUnexpectedEOF))
}

// leave stops the analysis when the user has interrupted it.
func (f *eventStream) cancel(ctx context.Context) {
	if ctx.Err() == nil || f.done || f.run == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if res, err := f.open(ctx, http.MethodDelete, f.path(), nil); err == nil {
		_ = res.Body.Close() // it ends by itself soon, should this have failed
	}
}
