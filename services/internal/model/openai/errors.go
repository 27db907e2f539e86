package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

var errSilent = fmt.Errorf("%w: the server is silent", model.ErrUnavailable)

// passing reports whether a second attempt may do better.
func passing(err error) bool {
	return slices.ContainsFunc([]error{served.ErrCut, model.ErrEmpty, served.ErrBroken}, func(e error) bool { return errors.Is(err, e) })
}

// explain wraps an error of [client] in the error that callers act on.
func explain(err error) error {
	var (
		refused *statusError
		network *url.Error
	)
	switch {
	case errors.As(err, &refused):
		return explainStatus(refused)
	case errors.As(err, &network):
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return served.ErrCut
	case errors.Is(err, served.ErrBroken):
		return err
	default: // the stream is malformed
		return fmt.Errorf("%w: %.300s", served.ErrBroken, err)
	}
}

// tooLong are the phrases of servers for a conversation that exceeds the window.
var tooLong = []string{"context length", "context_length", "context size", "context window", "maximum context"}

// explainStatus tells refusals apart by their text where the status does not.
func explainStatus(err *statusError) error {
	switch err.status {
	case http.StatusBadRequest:
		if mentions(err.code+" "+err.message, tooLong...) {
			return fmt.Errorf("%w: %w", model.ErrTooLong, err)
		}
		if !mentions(err.message, "does not support") {
			return err
		}
	case http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return err
	}
	return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
}

func mentions(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
