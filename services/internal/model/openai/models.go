package openai

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/services/internal/model"
)

// listTimeout bounds a request for the list of models.
const listTimeout = 5 * time.Second

// listed is the model's entry in the list of models.
type listed struct {
	window int // tokens; 0: not reported
}

// Check returns nil if the server responds and has the model. Other errors wrap
// [model.ErrUnavailable] or ctx.Err().
func (m *Model) Check(ctx context.Context) error {
	if _, err := m.list(ctx); err != nil {
		return fmt.Errorf("check %s: %w", m.url, err)
	}
	return nil
}

// Window returns the context window in tokens; 0 if unknown. It caches the server's
// response.
func (m *Model) Window(ctx context.Context) (int, error) {
	if m.settings.window > 0 {
		return m.settings.window, nil
	}
	if known := m.known.Load(); known != nil {
		return known.window, nil
	}
	found, err := m.list(ctx)
	if err != nil {
		return 0, err
	}
	return found.window, nil
}

// list requests the list of models and caches the entry of this one.
func (m *Model) list(ctx context.Context) (*listed, error) {
	bounded, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	all, err := m.client.models(bounded)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%w: no answer within %v", model.ErrUnavailable, listTimeout)
	default:
		return nil, explain(err)
	}
	var others []string
	for _, each := range all {
		if each.ID == m.settings.model {
			found := &listed{each.window()}
			m.known.Store(found)
			return found, nil
		}
		others = append(others, each.ID)
	}
	return nil, fmt.Errorf("%w: model not found; available: %.300s", model.ErrUnavailable, strings.Join(others, ", "))
}

// modelInfo is one entry of the list of models. Servers report the window
// under different names.
type modelInfo struct {
	ID               string `json:"id"`
	MaxModelLen      int    `json:"max_model_len"`      // vLLM, SGLang
	MaxContextLength int    `json:"max_context_length"` // Mistral
	ContextWindow    int    `json:"context_window"`     // Groq
	ContextLength    int    `json:"context_length"`     // OpenRouter
	Meta             struct {
		NCtx      int `json:"n_ctx"`
		NCtxTrain int `json:"n_ctx_train"`
	} `json:"meta"` // llama.cpp
}

// window is the size of the model's window in tokens; 0: not reported.
func (i modelInfo) window() int {
	for _, n := range []int{i.MaxModelLen, i.MaxContextLength, i.ContextWindow, i.ContextLength, i.Meta.NCtx, i.Meta.NCtxTrain} {
		if n > 0 {
			return n
		}
	}
	return 0
}
