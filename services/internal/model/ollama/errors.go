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

// errSilent is of all requests that waited when the server was held to hang.
var errSilent = fmt.Errorf("%w: the server is silent", model.ErrUnavailable)

// passingErrors are those after which a second attempt may do better. The last
// two come from a kept connection to a server that has started anew.
var passingErrors = []error{served.ErrCut, model.ErrEmpty, served.ErrBroken, errSilent, io.EOF, syscall.ECONNRESET}

func passing(err error) bool {
	return slices.ContainsFunc(passingErrors, func(e error) bool { return errors.Is(err, e) })
}

func tooLong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", model.ErrTooLong, fmt.Sprintf(format, args...))
}

// explain names the reason of an error of the api package where callers can
// act on it.
func explain(err error) error {
	var (
		refused api.StatusError
		signin  api.AuthorizationError
		network *url.Error
	)
	switch {
	case errors.As(err, &refused):
		return explainStatus(refused)
	case errors.As(err, &signin), errors.As(err, &network):
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	default: // a line of the stream: an error of the server's, or no JSON at all
		return fmt.Errorf("%w: %.300s", served.ErrBroken, err)
	}
}

// explainStatus tells refusals apart by their text where the status does not.
func explainStatus(err api.StatusError) error {
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
