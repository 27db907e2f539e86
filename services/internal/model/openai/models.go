package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cairn/services/internal/model"
)

// listTime bounds the question which models there are.
const listTime = 5 * time.Second

// listed is what the server says of the model.
type listed struct {
	window int // tokens; 0: it does not say
}

// Check says whether the server answers and has the model. Its errors wrap
// [model.ErrUnavailable], or ctx.Err().
func (m *Model) Check(ctx context.Context) error {
	if _, err := m.list(ctx); err != nil {
		return fmt.Errorf("check %s: %w", m.url, err)
	}
	return nil
}

// Window is how many tokens a conversation and its answer may have together;
// 0: nobody says. The server is asked once.
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

// list asks which models there are, and remembers what is said of this one.
func (m *Model) list(ctx context.Context) (*listed, error) {
	bounded, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	page, err := m.client.Models.List(bounded)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%w: no answer within %v", model.ErrUnavailable, listTime)
	default:
		return nil, explain(err)
	}
	var others []string
	for _, each := range page.Data {
		if each.ID == m.settings.model {
			found := &listed{windowOf(each.RawJSON())}
			m.known.Store(found)
			return found, nil
		}
		others = append(others, each.ID)
	}
	return nil, fmt.Errorf("%w: the server does not have it, only %.300s", model.ErrUnavailable, strings.Join(others, ", "))
}

// windowOf reads the window from what a server says of a model, each under its
// own name: vLLM and SGLang, Mistral, Groq, OpenRouter, llama.cpp.
func windowOf(said string) int {
	var names struct {
		MaxModelLen      int `json:"max_model_len"`
		MaxContextLength int `json:"max_context_length"`
		ContextWindow    int `json:"context_window"`
		ContextLength    int `json:"context_length"`
		Meta             struct {
			NCtx      int `json:"n_ctx"`
			NCtxTrain int `json:"n_ctx_train"`
		}
	}
	_ = json.Unmarshal([]byte(said), &names) // what is no number says nothing
	for _, n := range []int{
		names.MaxModelLen, names.MaxContextLength, names.ContextWindow, names.ContextLength, names.Meta.NCtx, names.Meta.NCtxTrain,
	} {
		if n > 0 {
			return n
		}
	}
	return 0
}
