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
	// maxResumes is the maximum number of times that a stream is resumed. The attempts
	// take about as long as the server keeps an abandoned analysis.
	maxResumes = 5
	// resumeInterval is the delay before each attempt.
	resumeInterval = time.Second
	// cancelTimeout bounds the request that cancels an analysis.
	cancelTimeout = 2 * time.Second
)

// eventStream is the event stream of an analysis. It is resumed after a lost connection.
type eventStream struct {
	client
	take func(event) error
	run  string // run ID to resume; empty: not resumable
	last string // ID of the last event
	done bool
}

// errInterrupted is returned when the connection is lost before the last event.
var errInterrupted = errors.New("the event stream was interrupted")

// toEnd reads the stream that starts with res. It resumes the stream after interruptions.
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

// read passes the events of one response to take and closes the response.
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

// cancel cancels the analysis if ctx has ended before the last event.
func (f *eventStream) cancel(ctx context.Context) {
	if ctx.Err() == nil || f.done || f.run == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if res, err := f.open(ctx, http.MethodDelete, f.path(), nil); err == nil {
		_ = res.Body.Close() // if the request fails, the server stops the abandoned analysis later
	}
}
