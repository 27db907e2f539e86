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
	"time"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"

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
	reported atomic.Pointer[capabilities] // nil until the server has reported them
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
//	first_chunk=60s   time to the first data after which the server counts as stalled,
//	                  besides the time for reading the prompt
//	keep_alive=30m    how long the model stays loaded (default: the server's own)
//	plan=schema       how the model plans: schema or tools
//	answers=written   stated, written or forwarded, see [model.Answers] (default: stated
//	                  below 7 billion parameters, else written)
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
		watchdog: newWatchdog(s.common.FirstChunk),
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
		return t.usage, m.answer(ctx, t)
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
	return &turn{client: m.client, watchdog: m.watchdog, req: req, limit: can.limit(m.common.NumCtx), writer: w}, nil
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

// Profile has as window num_ctx, or the model's context if that is smaller.
func (m *Model) Profile(ctx context.Context) (model.Profile, error) {
	can, err := m.capabilities(ctx)
	if err != nil {
		return model.Profile{}, err
	}
	return m.common.Profile(can.limit(m.common.NumCtx), can.parameters), nil
}

// Check returns nil if the server responds and has the model, and the model can chat,
// and with plan=tools call tools. Other errors wrap [model.ErrUnavailable] or ctx.Err().
func (m *Model) Check(ctx context.Context) error {
	can, err := m.show(ctx)
	switch {
	case err != nil:
	case !can.chat:
		err = fmt.Errorf("%w: the model cannot chat", model.ErrUnavailable)
	case !can.tools && m.common.Plan == model.PlanTools:
		err = fmt.Errorf("%w: the model cannot call tools, which plan=tools requires", model.ErrUnavailable)
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", m.url, err)
	}
	return nil
}

// capabilities returns the cached capabilities, or requests them.
func (m *Model) capabilities(ctx context.Context) (*capabilities, error) {
	if can := m.reported.Load(); can != nil {
		return can, nil
	}
	return m.show(ctx)
}

func (m *Model) show(ctx context.Context) (*capabilities, error) {
	bounded, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	can, err := capabilitiesOf(bounded, m.client, m.settings.model)
	switch {
	case err == nil:
		m.reported.Store(can)
		return can, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%w: no answer within %v", model.ErrUnavailable, showTimeout)
	default:
		return nil, explain(err)
	}
}

// reload unloads the model, so that the next request gets a new runner with all slots
// free. Of the requests that failed after the same number of reloads one reloads, and
// the others wait for it.
func (m *Model) reload(ctx context.Context, n int) error {
	select {
	case count := <-m.reloads:
		if count != n {
			m.reloads <- count
			return nil
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { m.reloads <- n + 1 }()
	if err := m.unload(ctx); err != nil {
		return fmt.Errorf("unload the model: %w", err)
	}
	return nil
}

// unload returns when the model is unloaded: an earlier request would reach the stalled
// runner.
func (m *Model) unload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, unloadTimeout)
	defer cancel()
	tick := time.NewTicker(unloadPoll)
	defer tick.Stop()
	req := &api.ChatRequest{Model: m.settings.model, KeepAlive: &api.Duration{}}
	for {
		err := m.client.Chat(ctx, req, func(api.ChatResponse) error { return nil })
		loaded, listErr := m.loaded(ctx)
		if err := errors.Join(err, listErr, ctx.Err()); err != nil || !loaded {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Model) loaded(ctx context.Context) (bool, error) {
	running, err := m.client.ListRunning(ctx)
	if err != nil {
		return false, err
	}
	name := ollama.ParseName(m.settings.model)
	for _, r := range running.Models {
		if ollama.ParseName(r.Name).EqualFold(name) {
			return true, nil
		}
	}
	return false, nil
}

// request converts c for Ollama. The option num_ctx never changes: another value makes the
// server reload the model.
func (m *Model) request(c model.Conversation, can *capabilities) (*api.ChatRequest, error) {
	messages, err := messagesOf(c)
	if err != nil {
		return nil, err
	}
	req := &api.ChatRequest{
		Model:     m.settings.model,
		Messages:  messages,
		KeepAlive: m.keepAlive,
		Options:   map[string]any{"num_ctx": m.common.NumCtx},
		Truncate:  new(false), // true drops the oldest messages, or the tools, silently
		Shift:     new(false), // true drops the beginning of the conversation during a long answer
	}
	if c.Schema == nil {
		req.Tools, err = toolsOf(c.Tools)
	} else {
		req.Format, req.Options["temperature"] = c.Schema, 0
	}
	limit := c.MaxTokens
	if can.think { // other models reject the option
		// For models with a built-in parser the server ignores a schema until the reasoning
		// has ended (ChatHandler in its server/routes.go), so they must reason.
		req.Think = &api.ThinkValue{Value: c.Schema != nil}
		if c.Schema != nil {
			limit += served.ReasoningTokens
		}
	}
	if c.MaxTokens > 0 {
		req.Options["num_predict"] = limit
	}
	return req, err
}
