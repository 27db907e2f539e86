// Package a2a serves the Agent2Agent protocol (A2A), version 1.0, over JSON-RPC: it
// translates tasks to runs of an analysis and does nothing else. The edge authenticates
// the client, admits the request, limits its body and writes the response.
//
// A task is a run, and its id the name of the run. Its state is stored only in the replay stream,
// so that any edge can answer the next request:
//
//	request body ─ read ─▶ Handler ─▶ Agent (tasks) ─▶ run
package a2a

import (
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-json-experiment/json/jsontext"

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

// Agent has the tasks of a Handler.
type Agent interface {
	GetTask(ctx context.Context, r *a2a.GetTaskRequest) (*a2a.Task, error)
	ListTasks(ctx context.Context, r *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error)
	CancelTask(ctx context.Context, r *a2a.CancelTaskRequest) (*a2a.Task, error)
	SendMessage(ctx context.Context, m *schemas.AgentMessage) (a2a.SendMessageResult, error)
	SendStreamingMessage(ctx context.Context, m *schemas.AgentMessage) iter.Seq2[a2a.Event, error]
	SubscribeToTask(ctx context.Context, r *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error]
}

// Handler answers requests of the protocol. It may be used concurrently.
type Handler struct{ agent Agent }

// New returns a handler for the tasks of an agent.
func New(agent Agent) *Handler { return &Handler{agent} }

type callerKey struct{}

func callerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// Serve answers a request with a reply or, if that is nil, with the events of a stream. They end when the context of
// the request does. An error before the first event is a reply.
func (h *Handler) Serve(r *http.Request, body []byte, c Caller) (reply []byte, events iter.Seq[bus.Event]) {
	ctx := context.WithValue(r.Context(), callerKey{}, c)
	request, err := readRPC(body)
	if err = cmp.Or(checkMedia(r), checkVersion(r), err); err != nil {
		return encode(c, request.ID, nil, err), nil
	}
	var result any
	switch request.Method {
	case methodStream, methodSubscribe:
		var updates iter.Seq2[a2a.Event, error]
		if updates, err = h.stream(ctx, request); err == nil {
			return follow(ctx, request.ID, updates)
		}
	default:
		result, err = h.result(ctx, request)
	}
	return encode(c, request.ID, result, err), nil
}

// Methods of the protocol (5.3).
const (
	methodSend      = "SendMessage"
	methodStream    = "SendStreamingMessage"
	methodSubscribe = "SubscribeToTask"
	methodGet       = "GetTask"
	methodList      = "ListTasks"
	methodCancel    = "CancelTask"
)

// result calls a method whose result is one value. It returns an error for features that the agent card does not
// declare.
func (h *Handler) result(ctx context.Context, r *rpcRequest) (any, error) {
	switch r.Method {
	case methodSend:
		m, err := readMessage(ctx, r)
		if err != nil {
			return nil, err
		}
		result, err := h.agent.SendMessage(ctx, m)
		return a2a.StreamResponse{Event: result}, err
	case methodGet:
		return call(ctx, r, h.agent.GetTask)
	case methodList:
		return call(ctx, r, h.agent.ListTasks)
	case methodCancel:
		return call(ctx, r, h.agent.CancelTask)
	case "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "CreateTaskPushNotificationConfig",
		"DeleteTaskPushNotificationConfig":
		return call(ctx, r, func(context.Context, *struct{}) (any, error) { return nil, errPush })
	case "GetExtendedAgentCard":
		return call(ctx, r, func(context.Context, *struct{}) (any, error) { return nil, errCard })
	case "":
		return nil, a2a.ErrInvalidRequest
	default:
		return nil, a2a.ErrMethodNotFound
	}
}

// call calls a method without a message.
func call[Req, Res any](ctx context.Context, r *rpcRequest,
	method func(context.Context, *Req) (Res, error)) (any, error) {
	var req Req
	if err := readParameters(ctx, r, &req); err != nil {
		return nil, err
	}
	return method(ctx, &req)
}

// stream calls a method whose result is a stream.
func (h *Handler) stream(ctx context.Context, r *rpcRequest) (iter.Seq2[a2a.Event, error], error) {
	if r.Method == methodSubscribe {
		var req a2a.SubscribeToTaskRequest
		err := readParameters(ctx, r, &req)
		return h.agent.SubscribeToTask(ctx, &req), err
	}
	m, err := readMessage(ctx, r)
	if err != nil {
		return nil, err
	}
	return h.agent.SendStreamingMessage(ctx, m), nil
}

// follow waits for the first event of a stream, and returns the stream, or a reply if the first event is an error.
func follow(ctx context.Context, id jsontext.Value, updates iter.Seq2[a2a.Event, error]) ([]byte, iter.Seq[bus.Event]) {
	c := callerOf(ctx)
	next, stop := iter.Pull2(updates)
	first, err, ok := next()
	if err != nil || !ok {
		stop()
		return encode(c, id, nil, cmp.Or(err, errors.New("the stream has no event"))), nil
	}
	return nil, func(yield func(bus.Event) bool) {
		defer stop()
		for update, err := first, error(nil); ok && ctx.Err() == nil; update, err, ok = next() {
			data := encode(c, id, a2a.StreamResponse{Event: update}, err)
			if !yield(bus.Event{Type: "message", Data: data}) || err != nil {
				return
			}
		}
	}
}

// response is a JSON-RPC response.
type response struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Result  any            `json:"result,omitempty"`
	Error   *rpcError      `json:"error,omitempty"`
}

// encode returns a response with the result, or with the error if there is one.
func encode(c Caller, id jsontext.Value, result any, err error) []byte {
	out := response{JSONRPC: "2.0", ID: id, Result: result}
	if err != nil {
		out.Result, out.Error = nil, newError(c, err)
	}
	text, err := stdjson.Marshal(out)
	if err != nil {
		text, _ = stdjson.Marshal(response{JSONRPC: "2.0", ID: id, Error: newError(c, err)}) // it has texts alone
	}
	return text
}

var (
	errPush = a2a.NewError(a2a.ErrPushNotificationNotSupported,
		"push notifications are not supported; subscribe to the task, or poll it")
	errCard = a2a.NewError(a2a.ErrUnsupportedOperation, "there is no extended agent card: the public one is complete")
)

// checkMedia returns an error unless the body is JSON, or of unknown type.
func checkMedia(r *http.Request) error {
	media := r.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(media); media != "" && (err != nil || kind != mediaJSON) {
		return a2a.NewError(a2a.ErrUnsupportedContentType,
			fmt.Sprintf("Content-Type: expected %s, got %.100q", mediaJSON, media))
	}
	return nil
}

// checkVersion returns an error unless the client requests version 1.0 of the protocol.
// A request without a version has version 0.3 (3.6.2).
func checkVersion(r *http.Request) error {
	given := r.Header.Get(a2a.SvcParamVersion)
	if given == "" {
		given = r.URL.Query().Get(a2a.SvcParamVersion)
	}
	major, rest, _ := strings.Cut(given, ".")
	minor, _, _ := strings.Cut(rest, ".") // patch versions do not count
	if major+"."+minor == string(a2a.Version) {
		return nil
	}
	if given == "" {
		return a2a.NewError(a2a.ErrVersionNotSupported,
			"expected the "+a2a.SvcParamVersion+" 1.0 in the header; without one it is 0.3")
	}
	return a2a.NewError(a2a.ErrVersionNotSupported,
		fmt.Sprintf("expected the %s 1.0, got %.100q", a2a.SvcParamVersion, given))
}
