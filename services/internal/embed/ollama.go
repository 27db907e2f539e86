package embed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"

	"cairn/bus/telemetry"
	"cairn/services/internal/breaker"
	"cairn/services/internal/ollamahost"
)

const (
	// loadTimeout bounds the loading of a model from a slow disk.
	loadTimeout = 5 * time.Minute
	// monitorInterval is the interval at which Monitor checks whether a probe is due.
	monitorInterval = 500 * time.Millisecond
	// metadataTimeout bounds requests that the server answers from its files.
	metadataTimeout = 5 * time.Second
	// verifyInterval is the interval at which the model is verified. If the model of its name is replaced,
	// vectors of both models may be mixed for that time.
	verifyInterval = time.Minute
)

// model is a model of an Ollama server. Its description is stored when it is first
// known, so that vectors of another model are never mixed in.
type model struct {
	settings
	client      *api.Client
	description atomic.Pointer[modelInfo] // nil before the first vector
	verified    atomic.Int64              // Unix nanoseconds; 0: verify before the next call
	breakers    [2]*breaker.Breaker       // by purpose
}

// modelInfo is the server's description of the model.
type modelInfo struct {
	digest     string // of the model's manifest; empty: unknown
	window     int    // in tokens, a lower bound; 0: unknown
	wordPiece  bool   // whether the tokenizer is BERT's
	dimensions int
}

// sample is a text that every model can embed.
const sample = "a text"

func openOllama(ctx context.Context, rawURL string) (Embedder, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	transport := ollamahost.NewTransport()
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	return averagingEmbedder{&model{
		settings: s,
		client:   api.NewClient(s.base, &http.Client{Transport: transport}),
		breakers: [2]*breaker.Breaker{newBreaker(), newBreaker()},
	}}, nil
}

func (m *model) Space() Space {
	if info := m.description.Load(); info != nil {
		return m.space(info)
	}
	return Space{Floor: m.floor}
}

func (m *model) Embed(ctx context.Context, purpose Purpose, texts []string) (vectors [][]float32, err error) {
	if ctx.Err() != nil || len(texts) == 0 {
		return nil, ctx.Err()
	}
	b := m.breakers[purpose]
	if err = b.Err(); err == nil { // otherwise Monitor probes the server
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
	info, err := m.info(ctx)
	if err != nil {
		return err
	}
	var jobs []job
	for i, text := range texts {
		if text = clean(text, info.wordPiece); text == "" {
			vectors[i] = make([]float32, info.dimensions)
			continue
		}
		jobs = append(jobs, job{i, text})
	}
	r := run{model: m, purpose: purpose, info: info, bound: m.timeout, vectors: vectors}
	for _, batch := range batches(jobs, m.batch, info.window) {
		if err := r.do(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// info returns the description of the model, queried when unknown and verified when due.
func (m *model) info(ctx context.Context) (*modelInfo, error) {
	info := m.description.Load()
	if info == nil {
		return m.fetchInfo(ctx)
	}
	if time.Since(time.Unix(0, m.verified.Load())) < verifyInterval {
		return info, nil
	}
	return info, m.verify(ctx, info)
}

// fetchInfo queries the model's digest and window, and embeds a sample to determine
// its dimensions.
func (m *model) fetchInfo(ctx context.Context) (*modelInfo, error) {
	var info *modelInfo
	err := limit(ctx, metadataTimeout, func(ctx context.Context) (err error) {
		info, err = m.queryInfo(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = limit(ctx, loadTimeout, func(ctx context.Context) error {
		vectors, err := m.requestVectors(ctx, []string{sample})
		if err == nil {
			info.dimensions = len(vectors[0])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if info.dimensions == 0 {
		return nil, unavailable("the model returned empty vectors")
	}
	m.description.CompareAndSwap(nil, info)
	if first := m.description.Load(); *first != *info {
		return nil, unavailable("the model of this name has just been replaced")
	}
	m.verified.Store(time.Now().UnixNano())
	return info, nil
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

// queryInfo queries the description of the model. The dimensions are known only from a
// vector.
func (m *model) queryInfo(ctx context.Context) (*modelInfo, error) {
	shown, err := m.client.Show(ctx, &api.ShowRequest{Model: m.name})
	if err != nil {
		return nil, explain(err)
	}
	capabilities := shown.Capabilities
	if len(capabilities) > 0 && !slices.Contains(capabilities, ollama.CapabilityEmbedding) {
		return nil, unavailable("the model does not support embeddings")
	}
	digest, err := m.digest(ctx)
	if err != nil {
		return nil, err
	}
	return &modelInfo{
		digest:    digest,
		window:    m.window(shown),
		wordPiece: shown.ModelInfo["tokenizer.ggml.model"] == "bert",
	}, nil
}

// digest returns the digest of the model's manifest.
func (m *model) digest(ctx context.Context) (string, error) {
	list, err := m.client.List(ctx)
	if rejected, ok := errors.AsType[api.StatusError](err); ok && rejected.StatusCode == http.StatusNotFound {
		return "", nil // an Ollama-compatible server without a list of models
	}
	if err != nil {
		return "", explain(err)
	}
	name := ollama.ParseName(m.name)
	for _, listed := range list.Models {
		if ollama.ParseName(listed.Name).EqualFold(name) {
			return listed.Digest, nil
		}
	}
	return "", unavailable("model not found on the server; run ollama pull")
}

// verify checks that the server still has the model of the earlier vectors.
func (m *model) verify(ctx context.Context, info *modelInfo) error {
	return limit(ctx, metadataTimeout, func(ctx context.Context) error {
		digest, err := m.digest(ctx)
		switch {
		case err != nil:
			return err
		case digest != info.digest:
			return unavailable("the model of this name was replaced after this process started; restart the process to use the new one")
		}
		m.verified.Store(time.Now().UnixNano())
		return nil
	})
}

// space returns a name of everything that determines the vectors.
func (m *model) space(info *modelInfo) Space {
	how := fmt.Sprintf("%s|%q|%d|%d", cleaningVersion, m.prefixes, m.numCtx, m.settings.dimensions)
	digest := strings.TrimPrefix(info.digest, "sha256:")
	return Space{
		Name:       fmt.Sprintf("%s@%.12s+%.4x", m.name, digest, sha256.Sum256([]byte(how))),
		Dimensions: info.dimensions,
		Floor:      m.floor,
	}
}

// Check queries whether the server has the model, unless the circuit breaker is
// open. It does not load the model.
func (m *model) Check(ctx context.Context) error {
	err := m.check(ctx)
	if err != nil {
		return fmt.Errorf("check %s: %w", m.name, err)
	}
	return nil
}

func (m *model) check(ctx context.Context) error {
	for _, b := range m.breakers {
		if err := b.Err(); err != nil {
			return err
		}
	}
	if info := m.description.Load(); info != nil {
		return m.verify(ctx, info)
	}
	return limit(ctx, metadataTimeout, func(ctx context.Context) error {
		_, err := m.queryInfo(ctx)
		return err
	})
}

func (m *model) warm(ctx context.Context) error {
	if err := m.load(ctx); err != nil {
		return fmt.Errorf("load %s: %w", m.name, err)
	}
	return nil
}

// load returns when the model has embedded a text. Canceling the request would abort
// the loading, so the timeout is long.
func (m *model) load(ctx context.Context) error {
	return limit(ctx, loadTimeout, func(ctx context.Context) error {
		info, err := m.info(ctx)
		if err != nil {
			return err
		}
		r := run{model: m, info: info, bound: loadTimeout, vectors: make([][]float32, 1)}
		return r.send(ctx, []job{{text: sample}})
	})
}

func (m *model) monitor(ctx context.Context) {
	tick := time.NewTicker(monitorInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.probe(ctx)
		}
	}
}

// probe probes the server when a probe is due. For queries it counts as available only
// when it is fast enough.
func (m *model) probe(ctx context.Context) {
	for purpose, b := range m.breakers {
		if !b.HalfOpen() {
			continue
		}
		_ = b.Do(ctx, func() error { // the breaker stores the error
			err := m.load(ctx)
			if err == nil && Purpose(purpose) == Query {
				_, err = m.embed(ctx, Query, []string{sample})
			}
			return err
		})
	}
}

// logTruncated logs that a text was truncated. Vectors are cached, so a document is logged
// once.
func (m *model) logTruncated(purpose Purpose, text, truncated string) {
	slog.Warn("text truncated to the window of the embedding model",
		"model", m.name, "bytes", len(text), "kept", len(truncated), "text", excerpt(purpose, text))
}
