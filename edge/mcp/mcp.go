// Package mcp serves the Model Context Protocol (MCP): it translates tools, resources
// and skills to endpoints of the bus and does nothing else. The edge authenticates the
// client, admits the request and limits its body.
//
// A message is answered without a session, so that any edge can answer the next one. Each
// role has its own server, which lists only the tools that the role may call;
// workers authorize each request again.
package mcp

import (
	"bytes"
	"context"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus"
	"cairn/schemas"
)

// Path is the path of the endpoint.
const Path = "/mcp"

// Forward sends a body to an endpoint of the bus.
type Forward = func(context.Context, *bus.Conn, []byte) (bus.Reply, error)

// Caller sends requests to the bus for the client of one message.
type Caller interface {
	// Identity returns the identity of the client; nil without authentication.
	Identity() *schemas.Identity
	// Tenant returns the default tenant of requests; empty: the tenant of the credential.
	Tenant() string
	// Send returns the JSON reply.
	Send(f Forward, body []byte) ([]byte, error)
	// AcquireCPU waits until the request may use a CPU for long (admission.NewLongPool). The caller calls
	// release, also after an error.
	AcquireCPU() (release func(), err error)
	// Analyze yields the events of an analysis. It ends with ctx, and when the client
	// disconnects.
	Analyze(ctx context.Context, body []byte) iter.Seq2[bus.Event, error]
	// PublicError returns the error that the client receives for err.
	PublicError(err error) *schemas.Error
}

// Handler answers messages of the protocol. It may be used concurrently.
type Handler struct {
	servers map[schemas.Role]*sdk.Server
	http    *sdk.StreamableHTTPHandler
}

const instructions = "Cairn finds skills and agents for a task, and everything that serves a skill: its context, tools, guardrails and " +
	"template. Search with search_skills, then call resolve_skill with the id of the best hit. Questions about a JSON document " +
	"(an estate) are answered by ask_estate; to compute its figures yourself, call inspect_schema and compute_stats."

// catalogTTL is the time in milliseconds for which clients may cache the lists of tools
// and resource templates, which change with the version of Cairn only.
const catalogTTL = 300_000

// New returns a handler whose requests have at most maxBody bytes.
func New(maxBody int64) (*Handler, error) {
	h := &Handler{servers: map[schemas.Role]*sdk.Server{}}
	list, err := tools()
	if err != nil {
		return nil, err
	}
	for _, role := range schemas.Roles() {
		if h.servers[role], err = newServer(list, role); err != nil {
			return nil, err
		}
	}
	h.http = sdk.NewStreamableHTTPHandler(
		func(r *http.Request) *sdk.Server { return h.Server(callerOf(r.Context()).Identity()) },
		&sdk.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody, Logger: discardLogger,
			DisableLocalhostProtection: true, // the edge checks Host
		})
	return h, nil
}

// discardLogger discards the log of the SDK: the edge logs each request.
var discardLogger = slog.New(slog.DiscardHandler)

func newServer(list []tool, role schemas.Role) (*sdk.Server, error) {
	capabilities := &sdk.ServerCapabilities{
		Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Completions: &sdk.CompletionCapabilities{},
		Prompts: &sdk.PromptCapabilities{},
	}
	capabilities.AddExtension(skillsExtension, map[string]any{"directoryRead": true})
	s := sdk.NewServer(&sdk.Implementation{Name: "cairn", Title: "Cairn", Version: bus.Version}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: capabilities, CompletionHandler: complete, SetCacheable: setCacheable,
		Logger: discardLogger,
	})
	s.AddReceivingMiddleware(recoverPanics, serveRecords)
	identity := &schemas.Identity{Role: role}
	for _, t := range list {
		if identity.Authorize(t.needs) != nil {
			continue
		}
		declared, err := t.declaration()
		if err != nil {
			return nil, err
		}
		s.AddTool(declared, t.handle)
	}
	addResources(s)
	for _, m := range customMethods {
		if err := m.add(s, m.name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// customMethods are the methods of extensions.
var customMethods = []struct {
	name string
	add  func(*sdk.Server, string) error
}{
	{"skills/list", func(s *sdk.Server, name string) error { return sdk.AddReceivingCustomMethod(s, name, listSkills) }},
	{"skills/get", func(s *sdk.Server, name string) error { return sdk.AddReceivingCustomMethod(s, name, getSkill) }},
	{"resources/directory/read", func(s *sdk.Server, name string) error {
		return sdk.AddReceivingCustomMethod(s, name, readDirectory)
	}},
}

// Methods returns the methods that read records, except for tools: those of the protocol and of
// its extensions.
func Methods() []string {
	methods := []string{"resources/list", "resources/read", "completion/complete", "prompts/list", "prompts/get"}
	for _, m := range customMethods {
		methods = append(methods, m.name)
	}
	return methods
}

// Server returns the server for a client with the identity.
func (h *Handler) Server(identity *schemas.Identity) *sdk.Server {
	if identity == nil {
		return h.servers[schemas.RoleAdmin]
	}
	return h.servers[identity.Role]
}

// Serve answers one HTTP request with the message m, which is read instead of its body. An error means that there is
// no response yet.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, m Message, c Caller) error {
	if err := checkParams(m.RPCRequest); err != nil {
		return writeError(w, m.RPCRequest, c, err)
	}
	body, err := json.Marshal(m.RPCRequest)
	if err != nil {
		return err
	}
	r = r.WithContext(context.WithValue(WithCaller(r.Context(), c), argumentsKey{}, m.arguments))
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.http.ServeHTTP(w, r)
	return nil
}

type argumentsKey struct{}

type callerKey struct{}

// WithCaller returns a context for messages of the client.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// setCacheable marks results as specific to the client: the tools depend on its role and
// the records on its tenant. Records may change at any time.
func setCacheable(_ context.Context, r sdk.Request, c *sdk.Cacheable) {
	c.CacheScope = scopePrivate
	if _, ok := r.(*sdk.ReadResourceRequest); !ok {
		c.TTLMs = catalogTTL
	}
}

const scopePrivate = "private"

// recoverPanics converts a panic of a handler to an error. The SDK runs handlers in its own
// goroutines, where a panic would crash the process.
func recoverPanics(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if value := recover(); value != nil {
				result, err = nil, protocolError(callerOf(ctx), bus.Recovered(value))
			}
		}()
		return next(ctx, method, r)
	}
}

// serveRecords answers the listings of resources and prompts, which are the same for all clients in the SDK. Clients
// may read a resource by any spelling of its URI.
func serveRecords(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		switch r := r.(type) {
		case *sdk.ListResourcesRequest:
			return listResources(ctx, r.Params)
		case *sdk.ListPromptsRequest:
			result, err = listPrompts(callerOf(ctx), r.Params)
		case *sdk.GetPromptRequest:
			result, err = getPrompt(callerOf(ctx), r.Params)
		case *sdk.ReadResourceRequest:
			if r.Params != nil {
				r.Params.URI = canonicalURI(r.Params.URI)
			}
			return next(ctx, method, r)
		default:
			if method == "subscriptions/listen" { // would stay open without an event
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
					Message: method + " is not supported: no notifications are sent"}
			}
			return next(ctx, method, r)
		}
		if err != nil {
			return nil, protocolError(callerOf(ctx), err)
		}
		return result, nil
	}
}

// Texts with which the SDK rejects messages before protocol version 2026-07-28, instead of a
// JSON-RPC error.
const (
	notHandled     = "JSON RPC not handled"
	invalidRequest = "invalid request"
)

// Rejection returns the JSON-RPC error for a request that the SDK has rejected with the text; nil
// if it is not one of the protocol, such as of another media type, or the message has no id.
func Rejection(message []byte, text string) []byte {
	code := int64(jsonrpc.CodeMethodNotFound)
	switch {
	case strings.HasPrefix(text, notHandled):
	case strings.HasPrefix(text, invalidRequest):
		code = jsonrpc.CodeInvalidRequest
	default:
		return nil
	}
	decoded, err := jsonrpc.DecodeMessage(message)
	r, ok := decoded.(*jsonrpc.Request)
	if err != nil || !ok || !r.IsCall() {
		return nil
	}
	reply, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: code, Message: text}})
	if err != nil {
		return nil
	}
	return reply
}

// protocolError returns the JSON-RPC error for err. Its data is the error body of the
// HTTP interface.
func protocolError(c Caller, err error) error {
	e := c.PublicError(err)
	code := int64(jsonrpc.CodeInternalError)
	if e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound {
		code = jsonrpc.CodeInvalidParams
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: code, Message: e.Error(), Data: data}
}
