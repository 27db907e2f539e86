package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/tmaxmax/go-sse"

	"cairn/services/internal/model/served"
)

const (
	maxError  = 64 << 10 // bytes read of a response that is an error
	maxList   = 8 << 20  // bytes read of the list of models
	maxEvent  = 8 << 20  // bytes of one event of a stream
	maxStream = 64 << 20 // bytes of one stream, about 200,000 chunks
)

// client calls the two endpoints of the API that a [Model] needs.
type client struct {
	base *url.URL
	key  string // empty: requests carry no Authorization header
	http *http.Client
}

// statusError is a response whose status is not 2xx.
type statusError struct {
	status  int
	code    string // error.code, where it is a string
	message string // error.message, or the body
}

func (e *statusError) Error() string {
	return fmt.Sprintf("status %d: %.300s", e.status, cmp.Or(e.message, http.StatusText(e.status)))
}

// models lists the models of the server.
func (c *client) models(ctx context.Context) ([]modelInfo, error) {
	res, err := c.do(ctx, http.MethodGet, "models", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // the body was read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxList))
	if err != nil {
		return nil, err
	}
	var page struct {
		Data []modelInfo `json:"data"`
	}
	if err := decode(body, &page); err != nil {
		return nil, err
	}
	return page.Data, nil
}

// stream sends a chat request and yields the chunks of the response. An error is the
// last value. A stream that ends without [DONE] is not an error; the finish reason marks
// a complete message.
func (c *client) stream(ctx context.Context, req request) iter.Seq2[chunk, error] {
	return func(yield func(chunk, error) bool) {
		res, err := c.do(ctx, http.MethodPost, "chat/completions", req)
		if err != nil {
			yield(chunk{}, err)
			return
		}
		defer func() { _ = res.Body.Close() }() // the body was read
		for event, err := range sse.Read(io.LimitReader(res.Body, maxStream), &sse.ReadConfig{MaxEventSize: maxEvent}) {
			if strings.HasPrefix(event.Data, "[DONE]") {
				return
			}
			var next chunk
			if err == nil && event.Data != "" {
				next, err = decodeChunk([]byte(event.Data))
			}
			if !yield(next, err) || err != nil {
				return
			}
		}
	}
}

// do sends a request and returns its response, whose status is 2xx.
func (c *client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path).String(), payload)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		defer func() { _ = res.Body.Close() }() // the body was read
		return nil, readStatusError(res)
	}
	return res, nil
}

func readStatusError(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxError))
	if err != nil {
		return err
	}
	var envelope struct {
		Error struct {
			Message string `json:"message"`
			Code    any    `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &envelope) // the text of the body explains the status as well
	code, _ := envelope.Error.Code.(string)
	return &statusError{res.StatusCode, code, cmp.Or(envelope.Error.Message, strings.TrimSpace(string(body)))}
}

func decodeChunk(data []byte) (chunk, error) {
	var c chunk
	if err := decode(data, &c); err != nil {
		return c, err
	}
	if failure := string(c.Error); failure != "" && failure != "null" {
		return c, fmt.Errorf("%w: %.300s", served.ErrServer, failure)
	}
	return c, nil
}

// decode decodes JSON. A field whose type differs from the expected one keeps
// its zero value: servers extend the API in incompatible ways.
func decode(data []byte, into any) error {
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(data, into); err != nil && !errors.As(err, &mismatch) {
		return fmt.Errorf("%w: %w", served.ErrServer, err)
	}
	return nil
}
