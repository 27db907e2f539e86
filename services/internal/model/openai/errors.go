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

// errIgnored reports a complete message that does not have the form that the request demands.
var errIgnored = errors.New("the server ignored the schema of the message")

var errStalled = fmt.Errorf("%w: the server has sent no data within first_chunk", model.ErrUnavailable)

// retryable reports whether a second attempt may succeed.
func retryable(err error) bool {
	return slices.ContainsFunc([]error{served.ErrTruncated, model.ErrEmpty, served.ErrServer}, func(e error) bool {
		return errors.Is(err, e)
	})
}

// explain wraps an error of [client] in the error that callers handle.
func explain(err error) error {
	var (
		rejected *statusError
		network  *url.Error
	)
	switch {
	case errors.As(err, &rejected):
		return explainStatus(rejected)
	case errors.As(err, &network):
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return served.ErrTruncated
	case errors.Is(err, served.ErrServer):
		return err
	default: // the stream is malformed
		return fmt.Errorf("%w: %.300s", served.ErrServer, err.Error())
	}
}

// tooLong are the phrases by which servers report that a conversation exceeds the window.
var tooLong = []string{"context length", "context_length", "context size", "context window", "maximum context"}

// explainStatus classifies errors by their text where the status is ambiguous.
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

// rejectsForm reports whether a server may have rejected the form of a request, not the
// request for other reasons.
func rejectsForm(err *statusError) bool {
	switch err.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout,
		http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return false
	case http.StatusNotFound, http.StatusInternalServerError, http.StatusNotImplemented:
		return mentions(err.message, "tool", "function", "schema", "response_format", "strict", "grammar")
	}
	return err.status/100 == 4 && !mentions(err.code+" "+err.message, tooLong...)
}

func mentions(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
