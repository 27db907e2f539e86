package openai

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

var errSilent = fmt.Errorf("%w: the server is silent", model.ErrUnavailable)

// passing reports whether a second attempt may do better.
func passing(err error) bool {
	return slices.ContainsFunc([]error{served.ErrCut, model.ErrEmpty, served.ErrBroken}, func(e error) bool { return errors.Is(err, e) })
}

// explain names the reason of an error of the client library where callers can
// act on it.
func explain(err error) error {
	var (
		refused *openai.Error
		network *url.Error
	)
	switch {
	case errors.As(err, &refused):
		return explainStatus(refused)
	case errors.As(err, &network):
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return served.ErrCut
	default: // an event of the stream: an error of the server's, or no JSON at all
		return fmt.Errorf("%w: %.300s", served.ErrBroken, err)
	}
}

// tooLong are words by which servers say that a conversation does not fit.
var tooLong = []string{"context length", "context_length", "context size", "context window", "maximum context"}

// explainStatus tells refusals apart by their text where the status does not.
func explainStatus(err *openai.Error) error {
	says := cmp.Or(err.Message, strings.TrimSpace(err.RawJSON()), http.StatusText(err.StatusCode))
	told := fmt.Errorf("status %d: %.300s", err.StatusCode, says)
	switch code := err.StatusCode; {
	case code == http.StatusBadRequest && mentions(err.Code+" "+says, tooLong...):
		return fmt.Errorf("%w: %w", model.ErrTooLong, told)
	case code == http.StatusBadRequest && !mentions(says, "does not support"):
		return told
	case code == http.StatusUnprocessableEntity, code == http.StatusInternalServerError:
		return told
	}
	return fmt.Errorf("%w: %w", model.ErrUnavailable, told)
}

func mentions(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
