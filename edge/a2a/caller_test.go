package a2a_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/bus"
	"cairn/edge/a2a"
	"cairn/schemas"
)

// caller is a client with the runs of a test.
type caller struct {
	*runs
}

// runs are the runs of a test: each sends the events of script, or fails with its error.
type runs struct {
	mu      sync.Mutex
	script  []bus.Event
	fail    error
	block   bool // after the events, until the context ends or the run is canceled
	bodies  []string
	started map[string]chan struct{} // closed when the run is canceled
	reads   atomic.Int64             // of the events of a run
}

var _ a2a.Caller = caller{}

func (c caller) AuthorizeTenant(tenant string) error {
	if tenant == "" || tenant == "acme" {
		return nil
	}
	return schemas.ErrAnalysisForbidden.With(schemas.FieldError{Field: "tenant", Message: "expected acme"})
}

func (c caller) NewRun(prefix string) string { return prefix + "-suffix" }
func (c caller) Owns(run string) bool        { return strings.HasSuffix(run, "-suffix") }
func (c caller) ReleaseBody()                {}
func (c caller) Acquire(n int64) bool        { return n < 1<<20 }
func (c caller) PublicError(err error) *schemas.Error {
	var e *schemas.Error
	if errors.As(err, &e) {
		return e
	}
	return schemas.ErrAnalysisInternal.Because(err.Error())
}

func (c caller) Start(ctx context.Context, newName func() string, body []byte) iter.Seq2[bus.Event, error] {
	return func(yield func(bus.Event, error) bool) {
		run := newName()
		c.mu.Lock()
		c.started[run], c.bodies = make(chan struct{}), append(c.bodies, string(body))
		c.mu.Unlock()
		if c.fail != nil {
			yield(bus.Event{}, c.fail)
			return
		}
		c.after(ctx, run, 0, yield)
	}
}

// after yields the events after the sequence.
func (c caller) after(ctx context.Context, run string, sequence uint64, yield func(bus.Event, error) bool) {
	for _, e := range c.script {
		if e.Sequence > sequence && !yield(e, nil) {
			return
		}
	}
	if !c.block {
		return
	}
	c.mu.Lock()
	canceled := c.started[run]
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		yield(bus.Event{}, ctx.Err())
	case <-canceled:
		n := uint64(len(c.script))
		_ = yield(bus.Event{Type: schemas.EventError, Sequence: n + 1,
			Data: []byte(`{"code":"AN-410","message":"run stopped: on request"}`)},
			nil) &&
			yield(bus.Event{Type: schemas.EventDone, Sequence: n + 2, Data: []byte("{}")}, nil)
	}
}

func (c caller) known(run string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started[run] != nil
}

func (c caller) Resume(ctx context.Context, run string, after uint64) iter.Seq2[bus.Event, error] {
	return func(yield func(bus.Event, error) bool) {
		if !c.known(run) {
			yield(bus.Event{}, bus.ErrNoRun)
			return
		}
		c.after(ctx, run, after, yield)
	}
}

func (c caller) Snapshot(_ context.Context, run string) iter.Seq2[bus.Event, error] {
	c.reads.Add(1)
	return func(yield func(bus.Event, error) bool) {
		if !c.known(run) {
			yield(bus.Event{}, bus.ErrNoRun)
			return
		}
		for _, e := range c.script {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (c caller) Stored(context.Context) (list []bus.StoredRun, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.started {
		state := schemas.RunDone
		if c.block {
			state = schemas.RunRunning
		}
		list = append(list, bus.StoredRun{Name: name, State: state, Updated: time.Unix(1, 0)})
	}
	return list, nil
}

func (c caller) Cancel(_ context.Context, run string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if canceled := c.started[run]; canceled != nil {
		close(canceled)
	}
	return nil
}

func read(t *testing.T, r *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return body
}

// must fails the test on an error of its setup.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
