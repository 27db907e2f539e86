// Package openai calls language models behind an OpenAI-compatible endpoint: vLLM,
// llama.cpp, SGLang, LiteLLM and hosted ones. It never truncates silently: a
// conversation that exceeds the window is an error, and so is an answer that the server
// did not mark as complete.
package openai

import (
	"context"
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

// attempts bounds the requests for a message: a server that drops an answer before the
// first part usually completes the next one.
const attempts = 2

// Model is a model of an endpoint.
type Model struct {
	settings
	client   client
	reported atomic.Pointer[listed] // nil until the server has reported it

	// What the server has shown in responses to chat requests.
	form       atomic.Int32 // of the first message under a schema; formUnknown: none yet
	reasoning  atomic.Bool  // counts towards max_tokens
	completion atomic.Bool  // the server requires max_completion_tokens in place of max_tokens
}

var _ model.Model = (*Model)(nil)

// Open returns the model at rawURL:
//
//	openai://host[:port]/name[?settings]
//
// With openai+https the server speaks TLS. The name may contain slashes
// (Qwen/Qwen3-8B). The API key is read from OPENAI_API_KEY. The settings are
//
//	path=/v1          base path of the API
//	num_ctx=32768     the model's window in tokens, if the server does not report it
//	first_chunk=60s   time to the first data after which the server counts as stalled,
//	                  besides the time for reading the prompt
//	plan=schema       how the model plans: schema or tools
//	answers=written   stated, written or forwarded, see [model.Answers]
//
// Open does not contact the server; Check and Next report errors. Canceling ctx closes
// idle connections.
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

// newTransport sets no timeout for response headers: servers process the prompt before
// they send them.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 3 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = 16
	return t
}

// Name returns the model's URL as opened.
func (m *Model) Name() string { return m.url }

// Next yields the model's next message, see [model.Model]. It retries a message once
// that fails before the first part. Errors wrap [model.ErrUnavailable],
// [model.ErrTooLong] or ctx.Err() where one of them is the cause.
func (m *Model) Next(ctx context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return served.Message(m.url, func(w *served.Writer) (model.Usage, error) {
		t, err := m.turn(ctx, c, w)
		if err != nil {
			return model.Usage{}, err
		}
		return t.usage, t.message(ctx)
	})
}

// turn prepares the request for the next message.
func (m *Model) turn(ctx context.Context, c model.Conversation, w *served.Writer) (*turn, error) {
	profile, err := m.Profile(ctx)
	if err != nil {
		return nil, err
	}
	t := &turn{model: m, conversation: c, request: newRequest(m.settings.model, c), window: profile.Window, writer: w}
	if c.Schema != nil {
		t.form = max(form(m.form.Load()), formTool)
	}
	return t, nil
}

// Check returns nil if the server responds, and lists the model or has no list of models.
// Other errors wrap [model.ErrUnavailable] or ctx.Err().
func (m *Model) Check(ctx context.Context) error {
	entry, err := m.list(ctx)
	if err == nil {
		err = entry.absence
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", m.url, err)
	}
	return nil
}

// Profile has as window the setting, or what the server reports. It caches the server's
// response.
func (m *Model) Profile(ctx context.Context) (model.Profile, error) {
	p := m.common.Profile(m.common.NumCtx, 0)
	if p.Window > 0 {
		return p, nil
	}
	entry := m.reported.Load()
	if entry == nil {
		var err error
		if entry, err = m.list(ctx); err != nil {
			return p, err
		}
	}
	p.Window = entry.window
	return p, nil
}

// list requests the list of models and caches the entry of this one.
func (m *Model) list(ctx context.Context) (*listed, error) {
	bounded, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	models, err := m.client.models(bounded)
	switch {
	case err == nil:
		entry := newListed(m.settings.model, models)
		m.reported.Store(entry)
		return entry, nil
	case noList(err):
		m.reported.Store(&listed{})
		return &listed{}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%w: no answer within %v", model.ErrUnavailable, listTimeout)
	default:
		return nil, explain(err)
	}
}
