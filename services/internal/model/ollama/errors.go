package ollama

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

// errStalled is returned by all requests that wait for the first data of a stalled server.
var errStalled = fmt.Errorf("%w: the server has sent no data within first_chunk", model.ErrUnavailable)

// retryableErrors may not recur in a second attempt. The last two come from an idle
// connection to a server that has restarted.
var retryableErrors = []error{served.ErrTruncated, model.ErrEmpty, served.ErrServer, errStalled, io.EOF,
	syscall.ECONNRESET}

func retryable(err error) bool {
	return slices.ContainsFunc(retryableErrors, func(e error) bool { return errors.Is(err, e) })
}

func tooLong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", model.ErrTooLong, fmt.Sprintf(format, args...))
}

// explain wraps an error of the api package in the error that callers handle.
func explain(err error) error {
	var (
		rejected api.StatusError
		signin   api.AuthorizationError
		network  *url.Error
	)
	switch {
	case errors.As(err, &rejected):
		return explainStatus(rejected)
	case errors.As(err, &signin), errors.As(err, &network):
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	default: // a line of the stream: an error of the server, or malformed JSON
		return fmt.Errorf("%w: %.300s", served.ErrServer, err.Error())
	}
}

// schemaErrors are phrases by which the server reports that it cannot apply a schema.
var schemaErrors = []string{"invalid format", "schema in format", "required for format", "grammar"}

// explainStatus classifies errors by their text where the status is ambiguous.
func explainStatus(err api.StatusError) error {
	if slices.ContainsFunc(schemaErrors, func(s string) bool { return strings.Contains(err.ErrorMessage, s) }) {
		return fmt.Errorf("the server cannot apply the schema of the message: %w", err)
	}
	switch err.StatusCode {
	case http.StatusBadRequest:
		if strings.Contains(err.ErrorMessage, "context length") {
			return fmt.Errorf("%w: %w", model.ErrTooLong, err)
		}
		if strings.Contains(err.ErrorMessage, "does not support") {
			return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
		}
	case http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	}
	return err
}
