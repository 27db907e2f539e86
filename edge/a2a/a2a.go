// Package a2a serves the Agent2Agent protocol (A2A), version 1.0, over JSON-RPC: it
// translates tasks to runs of an analysis and does nothing else. The edge authenticates
// the client, admits the request and limits its body.
//
// A task is a run, and its id the name of the run. Its state is stored only in the replay stream,
// so that any edge can answer the next request:
//
//	request body ─ read ─▶ guard ─▶ tasks ─▶ run
//	                        ▲ SDK: decodes the rest of the request, encodes the response
//
// The parts and metadata of a message bypass the SDK, which would decode them to Go values of many
// times their size.
package a2a

import (
	"bytes"
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"cairn/bus"
	"cairn/schemas"
)

// Caller sends requests to the bus for the client of one request. All runs belong to one
// bus.Stream.
type Caller interface {
	// AuthorizeTenant returns an error unless the client may act for the tenant. An empty tenant
	// means the tenant of the credential.
	AuthorizeTenant(tenant string) error
	// NewRun returns prefix as the name of a new run of the client.
	NewRun(prefix string) string
	// Owns reports whether the run belongs to the tenants of the client.
	Owns(run string) bool
	// Start yields the events of a new run, see bus.Stream.Start.
	Start(ctx context.Context, newName func() string, body []byte) iter.Seq2[bus.Event, error]
	// ReleaseBody releases the memory of the request.
	ReleaseBody()
	// Resume yields the events of the run after the sequence.
	Resume(ctx context.Context, run string, after uint64) iter.Seq2[bus.Event, error]
	// Snapshot yields the events of the run until now.
	Snapshot(ctx context.Context, run string) iter.Seq2[bus.Event, error]
	// Stored returns the stored runs of the tenants of the client.
	Stored(ctx context.Context) ([]bus.StoredRun, error)
	// Cancel cancels the run.
	Cancel(ctx context.Context, run string) error
	// Acquire reserves n bytes of the memory for bodies, and reports whether they were available.
	Acquire(n int64) bool
	// PublicError returns the error that the client receives for err.
	PublicError(err error) *schemas.Error
}

// Handler answers requests of the protocol. It may be used concurrently.
type Handler struct {
	guard *guard
	rpc   http.Handler
}

// New returns a handler for the tasks of an agent. Streams have a comment line after each
// keepAlive without an event.
func New(agent a2asrv.RequestHandler, keepAlive time.Duration) *Handler {
	g := &guard{agent}
	return &Handler{g, a2asrv.NewJSONRPCHandler(g, a2asrv.WithTransportKeepAlive(keepAlive),
		a2asrv.WithTransportPanicHandler(func(value any) error { return bus.Recovered(value) }))}
}

// call is the state of one request.
type call struct {
	caller    Caller
	rejection error       // validation error; nil: valid
	message   *message    // set by SendMessage and SendStreamingMessage until the run starts
	query     *parameters // of a method without a message; nil: none
	stream    *stream     // set by streaming methods once the first event has arrived
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// Serve answers a request.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, body []byte, c Caller) {
	state := &call{caller: c}
	ctx := context.WithValue(r.Context(), callKey{}, state)
	request := readRPC(body, state)
	if err := cmp.Or(checkMedia(r), checkVersion(r)); err != nil {
		state.rejection = err
	}
	switch {
	case request.Method == methodStream:
		state.stream = state.open(ctx, h.sendStreaming(request.Params))
	case request.Method == methodSubscribe:
		state.stream = state.open(ctx, func(ctx context.Context) iter.Seq2[a2a.Event, error] {
			return h.guard.SubscribeToTask(ctx,
				&a2a.SubscribeToTaskRequest{ID: a2a.TaskID(state.query.ID), Tenant: state.query.Tenant})
		})
	}
	if state.rejection != nil {
		request.reject()
	}
	defer state.stream.close()
	h.rpc.ServeHTTP(w, withBody(r.WithContext(ctx), request.encode()))
}

// sendStreaming returns a function that sends a message, which withoutData has encoded.
func (h *Handler) sendStreaming(message []byte) func(context.Context) iter.Seq2[a2a.Event, error] {
	return func(ctx context.Context) iter.Seq2[a2a.Event, error] {
		r := &a2a.SendMessageRequest{}
		if err := stdjson.Unmarshal(message, r); err != nil {
			return func(yield func(a2a.Event, error) bool) { yield(nil, callOf(ctx).protocolError(err)) }
		}
		return h.guard.SendStreamingMessage(ctx, r)
	}
}

// stream contains the events of a streaming method once the first one has arrived. The SDK reads
// it in a separate goroutine, which may outlive the response.
type stream struct {
	first  a2a.Event
	next   func() (a2a.Event, error, bool)
	stop   func()
	cancel context.CancelFunc

	reading sync.Mutex // held while the SDK reads
	closed  bool
}

// open waits for the first event of a stream. An error before it becomes the rejection of the
// request, so that the response is not a stream.
func (c *call) open(ctx context.Context, events func(context.Context) iter.Seq2[a2a.Event, error]) *stream {
	if c.rejection != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	next, stop := iter.Pull2(events(ctx))
	first, err, ok := next()
	if err == nil && !ok {
		err = errors.New("the stream has no event")
	}
	if err != nil {
		stop()
		cancel()
		c.rejection = err
		return nil
	}
	return &stream{first: first, next: next, stop: stop, cancel: cancel}
}

// protocolError returns the error of the protocol for err.
func (c *call) protocolError(err error) error {
	if _, ok := errors.AsType[*a2a.Error](err); ok || a2a.ErrorReason(err) != a2a.ErrorReason(a2a.ErrInternalError) {
		return err
	}
	e := c.caller.PublicError(err)
	out := a2a.NewError(kindOf(e), e.Error())
	if len(e.Fields) > 0 {
		out = out.WithTypedDetails(errordetails.NewTyped(badRequest, map[string]any{"fieldViolations": violations(e)}))
	}
	return out.WithErrorInfoMeta(metadata(e))
}

// events yields the events.
func (s *stream) events(yield func(a2a.Event, error) bool) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.closed {
		return
	}
	for e, err, ok := s.first, error(nil), true; ok; e, err, ok = s.next() {
		if !yield(e, err) {
			return
		}
	}
}

// close ends the stream, and waits until the SDK has stopped reading. It is a no-op on nil.
func (s *stream) close() {
	if s == nil {
		return
	}
	s.cancel()
	s.reading.Lock()
	defer s.reading.Unlock()
	s.closed = true
	s.stop()
}

func withBody(r *http.Request, body []byte) *http.Request {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r
}
