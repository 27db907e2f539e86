package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"

	"cairn/bus/telemetry"
	"cairn/services/internal/breaker"
	"cairn/services/internal/ollamahost"
)

// model is a model of an Ollama server. Its identity is pinned when it is first
// known, so that vectors of another model are never mixed in.
type model struct {
	settings
	client   *api.Client
	known    atomic.Pointer[identity] // nil before the first vector
	verified atomic.Int64             // Unix nanoseconds; 0: verify before the next call
	breakers [2]*breaker.Breaker      // by purpose
	watched  atomic.Bool
}

// sample is a text that every model can embed.
const sample = "a text"

var _ served = (*model)(nil)

func openOllama(ctx context.Context, rawURL string) (*model, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("embedder %q: %w", rawURL, err)
	}
	transport := ollamahost.NewTransport()
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	return &model{
		settings: s,
		client:   api.NewClient(s.base, &http.Client{Transport: transport}),
		breakers: [2]*breaker.Breaker{newBreaker(), newBreaker()},
	}, nil
}

func (m *model) Space() Space {
	if id := m.known.Load(); id != nil {
		return m.space(id)
	}
	return Space{Floor: m.floor}
}

func (m *model) Embed(ctx context.Context, purpose Purpose, texts []string) (vectors [][]float32, err error) {
	if ctx.Err() != nil || len(texts) == 0 {
		return nil, ctx.Err()
	}
	b := m.breakers[purpose]
	if m.watched.Load() { // Watch probes the server
		err = b.Err()
	}
	if err == nil {
		err = b.Do(ctx, func() (err error) {
			vectors, err = m.embed(ctx, purpose, texts)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("embed %d texts with %s: %w", len(texts), m.name, err)
	}
	return vectors, nil
}

func (m *model) embed(ctx context.Context, purpose Purpose, texts []string) (vectors [][]float32, err error) {
	vectors = make([][]float32, len(texts))
	if purpose == Query {
		err = limit(ctx, m.queryTimeout, func(ctx context.Context) error {
			return m.embedBatches(ctx, purpose, texts, vectors)
		})
	} else {
		err = m.embedBatches(ctx, purpose, texts, vectors)
	}
	if errors.Is(err, ErrUnavailable) {
		m.verified.Store(0) // it may return with another model
	}
	return vectors, err
}

// embedBatches stores the vectors of texts at their positions.
func (m *model) embedBatches(ctx context.Context, purpose Purpose, texts []string, vectors [][]float32) error {
	id, err := m.identity(ctx)
	if err != nil {
		return err
	}
	var jobs []job
	for i, text := range texts {
		if text = clean(text, id.wordPiece); text == "" {
			vectors[i] = make([]float32, id.dimensions)
			continue
		}
		jobs = append(jobs, job{i, text})
	}
	r := run{model: m, purpose: purpose, id: id, bound: m.timeout, vectors: vectors}
	for _, batch := range batches(jobs, m.batch, id.window) {
		if err := r.do(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// identity returns the model's identity, queried when unknown and verified when due.
func (m *model) identity(ctx context.Context) (*identity, error) {
	id := m.known.Load()
	if id == nil {
		return m.fetchIdentity(ctx)
	}
	if time.Since(time.Unix(0, m.verified.Load())) < verifyInterval {
		return id, nil
	}
	return id, m.verify(ctx, id)
}

// fetchIdentity queries the model's digest and window, and embeds a sample to determine
// its dimensions.
func (m *model) fetchIdentity(ctx context.Context) (*identity, error) {
	var id *identity
	err := limit(ctx, metadataTimeout, func(ctx context.Context) (err error) {
		id, err = m.identify(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = limit(ctx, loadTimeout, func(ctx context.Context) error {
		vectors, err := m.requestVectors(ctx, []string{sample})
		if err == nil {
			id.dimensions = len(vectors[0])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if id.dimensions == 0 {
		return nil, unavailable("the vectors of the model have no dimensions")
	}
	m.known.CompareAndSwap(nil, id)
	if first := m.known.Load(); *first != *id {
		return nil, unavailable("the model was replaced under its name just now")
	}
	m.verified.Store(time.Now().UnixNano())
	return id, nil
}

// requestVectors sends one request and returns as many vectors as inputs.
func (m *model) requestVectors(ctx context.Context, inputs []string) ([][]float32, error) {
	ctx, span := telemetry.Embed(ctx, telemetry.Model{Provider: "ollama", Name: m.name, Host: m.base.Hostname()})
	res, err := m.client.Embed(ctx, m.request(inputs))
	if err == nil {
		span.Tokens(res.PromptEvalCount, 0)
	}
	span.End(err)
	if err != nil {
		return nil, explain(err)
	}
	if len(res.Embeddings) != len(inputs) {
		return nil, unavailable("%d vectors for %d texts", len(res.Embeddings), len(inputs))
	}
	return res.Embeddings, nil
}
