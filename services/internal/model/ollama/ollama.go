// Package ollama calls language models that an Ollama server runs. It never truncates
// silently: a conversation that exceeds the model's context is an error, and so is an
// answer that the server did not mark as complete.
package ollama

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync/atomic"

	"github.com/ollama/ollama/api"

	"cairn/bus/overload"
	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
	"cairn/services/internal/ollamahost"
)

// attempts bounds the requests for a message. Models occasionally fail before the first
// part, mostly on a malformed tool call; a second attempt usually succeeds, a third
// rarely helps.
const attempts = 2

// Model is a model of an Ollama server.
type Model struct {
	settings
	client   *api.Client
	watchdog *watchdog
	reloads  reloads
	known    atomic.Pointer[capabilities] // nil until the server has reported them
}

var _ model.Model = (*Model)(nil)

// Open returns the model at rawURL:
//
//	ollama://host[:11434]/name[:tag][?settings]
//
// The name may contain slashes (hf.co/bartowski/…). The default host is 127.0.0.1. With
// ollama+https the server speaks TLS, on port 443 by default. The settings are
//
//	num_ctx=16384     the model's context in tokens; more takes more memory
//	first_chunk=60s   time to the first data after which the server counts as stalled
//	keep_alive=30m    how long the model stays loaded (default: the server's own)
//
// Open does not contact the server; Check and Next report errors. Canceling ctx closes
// idle connections.
func Open(ctx context.Context, rawURL string) (*Model, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", rawURL, err)
	}
	transport := ollamahost.NewTransport()
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	return &Model{
		settings: s,
		client:   api.NewClient(s.base, &http.Client{Transport: transport}),
		watchdog: newWatchdog(s.firstChunk),
		reloads:  newReloads(),
	}, nil
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
		err = overload.Idle(ctx, func() error { return m.answer(ctx, t) })
		return t.usage, err
	})
}

// turn prepares the request for the next message.
func (m *Model) turn(ctx context.Context, c model.Conversation, w *served.Writer) (*turn, error) {
	can, err := m.capabilities(ctx)
	if err != nil {
		return nil, err
	}
	req, err := m.request(c, can)
	if err != nil {
		return nil, err
	}
	return &turn{client: m.client, watchdog: m.watchdog, req: req, limit: can.limit(m.numCtx), writer: w}, nil
}

// answer receives the turn, and retries it once after a retryable error.
func (m *Model) answer(ctx context.Context, t *turn) error {
	for attempt := 1; ; attempt++ {
		n, err := m.reloads.count(ctx)
		if err != nil {
			return err
		}
		err = t.receive(ctx)
		if attempt == attempts || t.writer.Started() || !retryable(err) {
			return err
		}
		if !errors.Is(err, errStalled) {
			continue
		}
		if failed := m.reload(ctx, n); failed != nil {
			return fmt.Errorf("%w; %w", err, failed)
		}
	}
}
