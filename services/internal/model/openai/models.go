package openai

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cairn/services/internal/model"
)

// listTimeout bounds a request for the list of models.
const listTimeout = 5 * time.Second

// listed is the model's entry in the list of models. Gateways serve models that they do
// not list, and some have no list.
type listed struct {
	window  int   // tokens; 0: not reported
	absence error // nil: the model is listed, or the server has no list
}

func newListed(name string, models []modelInfo) *listed {
	names := make([]string, len(models))
	for i, each := range models {
		if each.ID == name {
			return &listed{window: each.window()}
		}
		names[i] = each.ID
	}
	err := fmt.Errorf("%w: model not found; available: %.300s", model.ErrUnavailable, strings.Join(names, ", "))
	return &listed{absence: err}
}

// noList reports whether err means that the server has no list of models.
func noList(err error) bool {
	var status *statusError
	return errors.As(err, &status) &&
		slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, status.status)
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
	for _, n := range []int{i.MaxModelLen, i.MaxContextLength, i.ContextWindow, i.ContextLength, i.Meta.NCtx,
		i.Meta.NCtxTrain} {
		if n > 0 {
			return n
		}
	}
	return 0
}
