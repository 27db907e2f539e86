package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/tmaxmax/go-sse"

	"cairn/schemas"
)

// Change is the registration, replacement or deletion of a record.
type Change struct {
	Type string // schemas.EventRegistered, EventReplaced, EventDeleted or EventUnmatched
	schemas.RecordChange
}

// Watch returns the changes of records from now on, or after the revision w.After. After a
// lost connection it resumes at the last revision received. It ends without an error when
// ctx ends, and with one when the server refuses the watch or remains unreachable.
func (c *Client) Watch(ctx context.Context, w schemas.Watch) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if err := w.Validate(); err != nil {
			yield(Change{}, err)
			return
		}
		for {
			more, err := c.watch(ctx, &w, yield)
			if ctx.Err() != nil || err == nil && !more {
				return
			}
			if err != nil {
				yield(Change{}, err)
				return
			}
			if !c.wait(ctx, resumeInterval) {
				return
			}
			c.retries.Add(1)
		}
	}
}

// watch yields the changes of one connection and advances w.After. It reports whether the
// watch continues on another connection.
func (c *Client) watch(ctx context.Context, w *schemas.Watch, yield func(Change, error) bool) (more bool, err error) {
	values, err := query(*w)
	if err != nil {
		return false, err
	}
	res, err := c.do(ctx, request{method: http.MethodGet, path: "/watch?" + values.Encode(), idempotent: true, stream: true})
	if err != nil {
		return false, err
	}
	defer func(body io.Closer) { _ = body.Close() }(res.Body)
	for e, err := range sse.Read(res.Body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil || e.Type == schemas.EventDone {
			return true, nil //nolint:nilerr // the connection was lost or the server drains: resume
		}
		if e.Type == schemas.EventError {
			var failed schemas.StreamError
			if err := json.Unmarshal([]byte(e.Data), &failed); err != nil {
				return false, fmt.Errorf("decode event %s: %w", e.Type, err)
			}
			return false, failed.Err()
		}
		change := Change{Type: e.Type}
		if err := json.Unmarshal([]byte(e.Data), &change.RecordChange); err != nil {
			return false, fmt.Errorf("decode event %s: %w", e.Type, err)
		}
		if e.Type != schemas.EventWatching && !yield(change, nil) {
			return false, nil
		}
		w.After = change.Revision
	}
	return true, nil
}
