package edge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/telemetry"
	"cairn/edge/describe"
	"cairn/edge/mcp"
	"cairn/schemas"
)

const (
	// mcpCopies is the memory of a message besides its body, in multiples of the body. Messages of 9 MB took 9.0
	// to find duplicate names in an object of a million members, and estates of other forms 6.7.
	mcpCopies = 9
	// mcpMaps is the memory for decoding parameters into maps, in multiples of their text. Objects of
	// one member took 57.
	mcpMaps = 64
	// mcpMaxAnswer bounds the single reply with all events of an analysis, in bytes.
	mcpMaxAnswer = 16 << 20
)

// modelContext returns an action that answers a message of the Model Context Protocol.
func modelContext(analysis bus.Stream[schemas.Analysis]) action {
	handler := sync.OnceValues(func() (*mcp.Handler, error) { return mcp.New(int64(analysis.MaxBody)) })
	request := reflect.TypeFor[schemas.RPCRequest]()
	return action{
		Spec: describe.Spec{
			Permission: schemas.PermissionRead, Summary: "Model Context Protocol (streamable HTTP, without sessions)",
			Group:   "mcp",
			Request: request, Reply: reflect.TypeFor[schemas.RPCResponse](), Stream: describe.Messages,
			Invalid: schemas.ErrMalformed,
		},
		answer: func(x *exchange) error {
			h, err := handler()
			if err != nil {
				return err
			}
			tenant, err := tenantParameter(x)
			if err = cmp.Or(err, readMinRevision(x)); err != nil {
				return err
			}
			body, err := readMessage(x, analysis.MaxBody)
			if err != nil {
				return err
			}
			key := bus.AdmissionKey(x.caller, nil)
			err = x.edge.messages.Enter(x.r.Context(), key) // before the protocol's handler, which takes most of the CPU time
			if errors.Is(err, admission.ErrFull) {
				return errOverload
			}
			if err != nil {
				return err
			}
			leave := sync.OnceFunc(func() { x.edge.messages.Leave(key) })
			defer leave()
			message, err := mcp.Decode(body)
			if err != nil {
				return err
			}
			w := &messageWriter{x: x}
			c := &mcpCaller{x: x, w: w, analysis: analysis, tenant: tenant, leave: leave}
			err = h.Serve(w, x.r, message, c)
			w.end()
			if err != nil {
				return err
			}
			return w.finish(body)
		},
	}
}

// readMessage receives the body of the request: one message. A batch, which protocol versions
// from 2025-06-18 on do not have, would be several requests for the rate limit.
func readMessage(x *exchange, limit int) ([]byte, error) {
	body, err := x.readBody(limit)
	if err != nil {
		return nil, err
	}
	if !x.body.acquire(mcpCopies*int64(len(body)) + mcpMaps*int64(min(len(body), mcp.MaxParams))) {
		return nil, errBodyMemory
	}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte{'['}) {
		return nil, schemas.ErrMalformed.With(schemas.FieldError{Field: "body",
			Message: "expected one message; batches are not supported"})
	}
	return body, nil
}

// tenantParameter returns the tenant_id of the URL; empty: none.
func tenantParameter(x *exchange) (string, error) {
	if len(x.r.URL.RawQuery) > maxQuery {
		return "", schemas.ErrMalformed.With(schemas.FieldError{Field: "query", Message: "too long"})
	}
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return "", schemas.ErrMalformed.With(schemas.FieldError{Field: "query", Message: err.Error()})
	}
	for name, values := range query {
		if name != "tenant_id" || len(values) > 1 {
			return "", schemas.ErrMalformed.With(schemas.FieldError{
				Field: name, Message: "unknown or given more than once; expected one tenant_id or none",
			})
		}
		if values[0] == "" {
			return "", schemas.ErrMalformed.With(schemas.FieldError{Field: name,
				Message: "empty; expected a tenant, or no tenant_id"})
		}
	}
	return query.Get("tenant_id"), nil
}

// mcpCaller sends requests to the bus for the client of one message.
type mcpCaller struct {
	x        *exchange
	w        *messageWriter
	analysis bus.Stream[schemas.Analysis]
	tenant   string
	leave    func() // ends the place of the message in the queue
}

func (c *mcpCaller) Identity() *schemas.Identity          { return c.x.caller }
func (c *mcpCaller) Tenant() string                       { return c.tenant }
func (c *mcpCaller) PublicError(err error) *schemas.Error { return c.x.publicError(err) }

// Send implements mcp.Caller. The reply includes every write acknowledged through this edge.
func (c *mcpCaller) Send(f mcp.Forward, body []byte) ([]byte, error) {
	var reply bus.Reply
	err := readYourWrites(c.x, func() (err error) {
		reply, err = c.x.send(f, body)
		return err
	})
	if n := int64(len(reply.Body)); err == nil && n > largeReply && !c.x.body.acquire(mcpCopies*n) {
		return nil, countRefusal(errBodyMemory)
	}
	return reply.Body, countRefusal(err)
}

// AcquireCPU implements mcp.Caller.
func (c *mcpCaller) AcquireCPU() (release func(), err error) {
	ctx := admission.WithTenant(c.x.r.Context(), bus.AdmissionKey(c.x.caller, nil))
	return admission.Acquire(ctx, c.x.edge.longWork, 1)
}

// countRefusal counts err if it is a refusal, which becomes the result of a tool. It is not delayed
// as in exchange.handle, because the message holds its memory.
func countRefusal(err error) error {
	if isRefusal(err) {
		telemetry.HTTPRefused.Inc()
	}
	return err
}

// Analyze implements mcp.Caller.
func (c *mcpCaller) Analyze(ctx context.Context, body []byte) iter.Seq2[bus.Event, error] {
	return func(yield func(bus.Event, error) bool) {
		if err := c.x.caller.Authorize(c.analysis.Permission); err != nil {
			yield(bus.Event{}, err)
			return
		}
		release, err := enterStream(c.x)
		if err != nil {
			yield(bus.Event{}, countRefusal(err))
			return
		}
		defer release()
		c.leave()
		defer telemetry.StreamOpened()()
		c.w.keepAlive()
		c.run(ctx, body, yield)
	}
}

// run yields the events of a run, and cancels the run when the caller breaks out of the loop.
func (c *mcpCaller) run(caller context.Context, body []byte, yield func(bus.Event, error) bool) {
	ctx, cancel := streamContext(c.x)
	defer cancel()
	defer context.AfterFunc(caller, cancel)()
	size, run := 0, ""
	newRun := func() string {
		run = bus.NameRun(c.x.caller, bus.NewRun())
		return run
	}
	for event, err := range c.analysis.Start(ctx, c.x.edge.conn, newRun, body) {
		if err != nil {
			err = streamError(ctx, err)
		}
		if size += len(event.Data); err == nil &&
			(size > mcpMaxAnswer || !c.x.body.acquire(mcpCopies*int64(len(event.Data)))) {
			err = schemas.ErrAnalysisUnavailable.Because("the answer is too large for the memory of the edge (--body-memory)")
		}
		if !yield(event, err) || err != nil {
			if event.Type != schemas.EventDone {
				_ = c.analysis.Cancel(context.WithoutCancel(c.x.ctx), c.x.edge.conn, run) // else the grace period ends it
			}
			return
		}
	}
}

// messageWriter is the response of the protocol's handler. It keeps rejections by the handler,
// which are plain text, as errors of Cairn.
type messageWriter struct {
	x         *exchange
	rejection strings.Builder
	status    int // status of a rejection; 0: none

	mu    sync.Mutex  // guards the response: the timer writes too
	timer *time.Timer // nil: no keep-alive
	over  bool        // no more comments
}

func (w *messageWriter) Header() http.Header { return w.x.w.Header() }

func (w *messageWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeader(status)
}

func (w *messageWriter) writeHeader(status int) {
	if w.x.status != 0 {
		return // a comment was first
	}
	media := w.Header().Get("Content-Type")
	if status >= http.StatusBadRequest && strings.HasPrefix(media, "text/plain") {
		w.status = status
		return
	}
	if media == describe.MediaEvents {
		w.Header().Set("X-Accel-Buffering", "no")
	}
	w.x.status = status
	w.x.limitWrite()
	w.x.w.WriteHeader(status)
}

func (w *messageWriter) Write(part []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(part)
}

func (w *messageWriter) write(part []byte) (int, error) {
	if w.status != 0 {
		return w.rejection.Write(part)
	}
	if w.x.status == 0 {
		w.writeHeader(http.StatusOK)
	}
	w.x.limitWrite()
	return w.x.w.Write(part)
}

// Flush implements http.Flusher.
func (w *messageWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
}

func (w *messageWriter) flush() {
	if w.status == 0 && w.x.status != 0 {
		_ = http.NewResponseController(w.x.w).Flush() // the next write fails too
	}
}

// keepAlive sends comments until end is called, so that the client receives the header and proxies keep the
// connection before the first result. The handler must have set the header.
func (w *messageWriter) keepAlive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over && w.timer == nil {
		w.timer = time.AfterFunc(w.x.edge.keepAlive, w.comment)
	}
}

func (w *messageWriter) comment() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if _, err := w.write([]byte(": alive\n\n")); err == nil {
		w.flush()
		w.timer.Reset(w.x.edge.keepAlive)
	}
}

// end ends the comments.
func (w *messageWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// finish responds with a rejection of the message in the protocol's form, or returns it as an
// error; nil: the response is sent.
func (w *messageWriter) finish(message []byte) error {
	if w.status != 0 {
		w.Header().Del("Content-Type")
		text := strings.TrimSpace(w.rejection.String())
		if reply := mcp.Rejection(message, text); reply != nil {
			w.x.write(http.StatusOK, mediaJSON, reply)
			return nil
		}
		if w.status >= http.StatusInternalServerError {
			return fmt.Errorf("handle a message: %s", text)
		}
		return schemas.ErrMalformed.Because(text)
	}
	if w.x.status == 0 { // the client has disconnected
		return cmp.Or(w.x.r.Context().Err(), error(schemas.ErrInternal.Because("the message was not answered")))
	}
	return nil
}
