// Package ollama asks a language model that an Ollama server runs. Nothing is
// cut silently: a conversation that does not fit the model's context is an
// error, and so is an answer that the server did not mark as complete.
package ollama

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync/atomic"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
	"cairn/services/internal/ollamahost"
)

// attempts is how often a message is asked for. Models fail now and then with
// nothing said, mostly over a tool call they garbled; the second try is as
// good as the first, a third rarely helps.
const attempts = 2

// Model is one model of one Ollama server.
type Model struct {
	settings
	client *api.Client
	watch  *watch
	rounds rounds
	known  atomic.Pointer[abilities] // as the server last told, nil before
}

var _ model.Model = (*Model)(nil)

// Open prepares the model at rawURL:
//
//	ollama://host[:11434]/name[:tag][?settings]
//
// The name may have slashes (hf.co/bartowski/…); without a host it is the one
// at 127.0.0.1, and ollama+https speaks TLS (port 443). The settings are
//
//	num_ctx=16384     the model's context, in tokens; more takes more memory
//	first_chunk=60s   how long the server may be silent before it is held to hang
//	keep_alive=30m    how long the model stays loaded (default: the server's own)
//
// The server is not contacted: one that is away is reported by Check and Next.
// Idle connections are closed when ctx ends.
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
		watch:    newWatch(s.firstChunk),
		rounds:   newRounds(),
	}, nil
}

// Name is the model's URL, as it was opened.
func (m *Model) Name() string { return m.url }

// Next yields the model's next message, see [model.Model]. A message that
// fails before any part of it was yielded is asked for a second time. Errors
// wrap [model.ErrUnavailable], [model.ErrTooLong] or ctx.Err() where one of
// them is the reason.
func (m *Model) Next(ctx context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		m.next(ctx, c, yield)
	}
}

func (m *Model) next(ctx context.Context, c model.Conversation, yield func(model.Part, error) bool) {
	t, err := m.turn(ctx, c)
	if err == nil {
		t.speech.Yield = yield
		err = m.answer(ctx, t)
	}
	switch {
	case errors.Is(err, served.ErrLeft):
	case err != nil:
		yield(model.Part{}, fmt.Errorf("ask %s: %w", m.url, err))
	default:
		yield(model.Part{Usage: &t.usage}, nil)
	}
}

// turn prepares a turn of c; its speech is still to be set.
func (m *Model) turn(ctx context.Context, c model.Conversation) (*turn, error) {
	can, err := m.abilities(ctx)
	if err != nil {
		return nil, err
	}
	req, err := m.request(c, can)
	if err != nil {
		return nil, err
	}
	return &turn{client: m.client, watch: m.watch, req: req, limit: can.limit(m.numCtx)}, nil
}

// answer receives the turn, a second time when the first came to nothing.
func (m *Model) answer(ctx context.Context, t *turn) error {
	for attempt := 1; ; attempt++ {
		round, err := m.rounds.now(ctx)
		if err != nil {
			return err
		}
		err = t.receive(ctx)
		if attempt == attempts || t.speech.Spoke() || !passing(err) {
			return err
		}
		if !errors.Is(err, errSilent) {
			continue
		}
		if failed := m.revive(ctx, round); failed != nil {
			return fmt.Errorf("%w; %w", err, failed)
		}
	}
}
