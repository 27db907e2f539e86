// Package openai asks a language model behind an endpoint that speaks as
// OpenAI's does: vLLM, llama.cpp, SGLang, LiteLLM and hosted ones. Nothing is
// cut silently: a conversation that does not fit is an error, and so is an
// answer that the server did not mark as complete.
package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

// attempts is how often a message is asked for: a server that drops an answer
// before its first word mostly has the next one.
const attempts = 2

// Model is one model of one endpoint.
type Model struct {
	settings
	client client
	known  atomic.Pointer[listed] // as the server last told, nil before
}

var _ model.Model = (*Model)(nil)

// Open prepares the model at rawURL:
//
//	openai://host[:port]/name[?settings]
//
// With openai+https the server speaks TLS. The name may have slashes
// (Qwen/Qwen3-8B). The key, where one is wanted, is the environment's
// OPENAI_API_KEY. The settings are
//
//	path=/v1          where the API begins at the host
//	num_ctx=32768     the model's window in tokens, where the server does not tell
//	first_chunk=60s   how long the server may be silent before it is held to hang
//
// The server is not contacted: one that is away is reported by Check and Next.
// Idle connections are closed when ctx ends.
func Open(ctx context.Context, rawURL string) (*Model, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", rawURL, err)
	}
	transport := newTransport()
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	return &Model{
		settings: s,
		client:   client{base: s.base, key: os.Getenv("OPENAI_API_KEY"), http: &http.Client{Transport: transport}},
	}, nil
}

// newTransport has no limit on the time to a response's headers: the model
// reads its prompt before they come.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 3 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = 16
	return t
}

// Name is the model's URL, as it was opened.
func (m *Model) Name() string { return m.url }

// Next yields the model's next message, see [model.Model]. A message that
// fails before any part of it was yielded is asked for a second time. Errors
// wrap [model.ErrUnavailable], [model.ErrTooLong] or ctx.Err() where one of
// them is the reason.
func (m *Model) Next(ctx context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		t, err := m.turn(ctx, c, yield)
		if err == nil {
			err = t.receive(ctx)
			for n := 1; n < attempts && !t.speech.Spoke() && passing(err); n++ {
				err = t.receive(ctx)
			}
		}
		switch {
		case errors.Is(err, served.ErrLeft):
		case err != nil:
			yield(model.Part{}, fmt.Errorf("ask %s: %w", m.url, err))
		default:
			yield(model.Part{Usage: &t.usage}, nil)
		}
	}
}

// turn prepares the model's next message.
func (m *Model) turn(ctx context.Context, c model.Conversation, yield func(model.Part, error) bool) (*turn, error) {
	window, err := m.Window(ctx)
	if err != nil {
		return nil, err
	}
	return &turn{model: m, request: newRequest(m.settings.model, c), window: window, speech: served.Speech{Yield: yield}}, nil
}
