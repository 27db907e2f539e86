// Package stdio implements the command that serves the Model Context Protocol on stdin and stdout.
package stdio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

const (
	// maxRequests bounds the concurrent requests.
	maxRequests = 64
	// maxMessage bounds a message in bytes: the largest request of an edge and the largest
	// answer fit.
	maxMessage = 64 << 20
	// headerVersion names the negotiated version of the protocol.
	headerVersion = "Mcp-Protocol-Version"
)

// Command returns the command cairn mcp.
func Command() *cobra.Command {
	p := &proxy{}
	tenant := ""
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the Model Context Protocol on stdin and stdout",
		Long: `Mcp connects an MCP client that starts its servers as child processes to a running
Cairn: it forwards each message from stdin to /mcp and writes the responses to stdout.
The tools are those that the role of the key permits. It exits when stdin is closed and
all requests have been answered.`,
		Example: `  cairn mcp
  CAIRN_URL=https://cairn.example.com CAIRN_KEY_FILE=key cairn mcp
  claude mcp add cairn -- cairn mcp --url http://127.0.0.1:8080`,
		Args: flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.endpoint = p.Client.URL() + "/mcp"
			if tenant != "" {
				p.endpoint += "?" + url.Values{"tenant_id": {tenant}}.Encode()
			}
			p.out = cmd.OutOrStdout()
			return p.run(cmd.Context(), cmd.InOrStdin())
		},
	}
	p.Flags(cmd)
	cmd.Flags().StringVar(&tenant, "tenant", "",
		"`TENANT` of requests that name none; needed for a key of several tenants")
	return cmd
}

// proxy forwards messages between a client on stdio and an edge.
type proxy struct {
	connect.HTTP
	endpoint string
	version  atomic.Value // string: the negotiated version of the protocol
	out      io.Writer    // safe for concurrent use
	running  sync.Map     // of context.CancelFunc, by the jsonrpc.ID of the request
}

// run forwards messages until in ends.
func (p *proxy) run(ctx context.Context, input io.Reader) error {
	requests, ctx := errgroup.WithContext(ctx)
	requests.SetLimit(maxRequests)
	scanner := bufio.NewScanner(input)
	scanner.Buffer(nil, maxMessage)
	lines := make(chan []byte)
	go func() { // until input ends: a read of stdin cannot be canceled
		defer close(lines)
		for scanner.Scan() {
			select {
			case lines <- bytes.Clone(scanner.Bytes()):
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return cmp.Or(requests.Wait(), ctx.Err())
		case line, ok := <-lines:
			if !ok {
				return errors.Join(scanner.Err(), requests.Wait())
			}
			if err := p.handle(ctx, line, requests); err != nil {
				return errors.Join(err, requests.Wait())
			}
		}
	}
}

// handle starts the request on a line, in the group.
func (p *proxy) handle(ctx context.Context, line []byte, requests *errgroup.Group) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	message, err := jsonrpc.DecodeMessage(line)
	if _, ok := message.(*jsonrpc.Response); ok {
		return nil // Cairn sends no requests to clients
	}
	_, invalid := schemas.Decode[schemas.RPCRequest](line, schemas.ErrMalformed) // as strict as the edge
	if err = cmp.Or(invalid, err); err != nil {
		return p.reject(line, err)
	}
	request := message.(*jsonrpc.Request)
	if request.Method == "notifications/cancelled" {
		p.cancel(request)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	if request.IsCall() {
		p.running.Store(request.ID, cancel)
	}
	requests.Go(func() error {
		defer cancel()
		defer p.running.Delete(request.ID)
		return p.forward(ctx, request)
	})
	return nil
}

// reject answers a line that is not a request without the id of a request, which jsonrpc.EncodeMessage omits.
func (p *proxy) reject(line jsontext.Value, reason error) error {
	e := jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: output.OneLine(reason)}
	if !line.IsValid(jsontext.AllowDuplicateNames(true)) {
		e.Code = jsonrpc.CodeParseError
	}
	text, err := json.Marshal(&e)
	if err != nil {
		return err
	}
	return output.JSONLine(p.out, schemas.RPCResponse{JSONRPC: "2.0", Error: text})
}

// cancel closes the connection of a request that the client cancels, so that the edge cancels it.
func (p *proxy) cancel(r *jsonrpc.Request) {
	var params sdk.CancelledParams
	if json.Unmarshal(r.Params, &params) != nil {
		return
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	if err != nil {
		return
	}
	if cancel, ok := p.running.Load(id); ok {
		cancel.(context.CancelFunc)()
	}
}

// forward sends a request and writes the messages of its response. It answers a failed request
// with an error message, since the edge may be available for the next one, and returns only
// errors of writing.
func (p *proxy) forward(ctx context.Context, r *jsonrpc.Request) error {
	err := p.exchange(ctx, r)
	var write writeError
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the text of the SDK
	}
	switch {
	case err == nil, ctx.Err() != nil, !r.IsCall():
		return nil
	case errors.As(err, &write):
		return write.error
	}
	return p.write(&jsonrpc.Response{ID: r.ID,
		Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: output.OneLine(err)}})
}

// writeError is a failed write to the client.
type writeError struct{ error }

// exchange sends a request over a separate connection, so that a failure does not affect
// other requests.
func (p *proxy) exchange(ctx context.Context, r *jsonrpc.Request) error {
	transport := &sdk.StreamableClientTransport{
		Endpoint: p.endpoint, HTTPClient: &http.Client{Transport: versioned{p}}, MaxEventSize: maxMessage,
		MaxRetries: -1, DisableStandaloneSSE: true,
	}
	conn, err := transport.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Write(ctx, r); err != nil || !r.IsCall() {
		return err
	}
	for {
		message, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		response, last := message.(*jsonrpc.Response)
		if last && r.Method == "initialize" {
			p.negotiated(response)
		}
		if err := p.write(message); err != nil {
			return writeError{err}
		}
		if last {
			return nil
		}
	}
}

// write writes a message to the client.
func (p *proxy) write(m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(text, '\n'))
	return err
}

// negotiated stores the version in the response to initialize.
func (p *proxy) negotiated(r *jsonrpc.Response) {
	var result sdk.InitializeResult
	if r.Error == nil && json.Unmarshal(r.Result, &result) == nil {
		p.version.Store(result.ProtocolVersion)
	}
}

// versioned adds the negotiated version to requests that name none.
type versioned struct{ p *proxy }

func (v versioned) RoundTrip(r *http.Request) (*http.Response, error) {
	if version, ok := v.p.version.Load().(string); ok && r.Header.Get(headerVersion) == "" {
		r = r.Clone(r.Context())
		r.Header.Set(headerVersion, version)
	}
	res, err := v.p.Client.RoundTrip(r)
	if err != nil || res.StatusCode < http.StatusBadRequest {
		return res, err
	}
	return errorResponse(res)
}

// errorResponse returns an error body of Cairn as an error. It returns any other response, such as
// a message of the protocol, regardless of its status.
func errorResponse(res *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	var e schemas.Error
	if json.Unmarshal(body, &e) == nil && e.Code != "" {
		return nil, &e
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}
