package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

// ErrUnavailable says that there are no vectors now: the server is away, slow
// or full, or lacks the model, or has got another one. Asking again later, or
// after the operator has acted, may succeed.
var ErrUnavailable = errors.New("embedding model unavailable")

// ErrRefused says that the server does not take a text, or the settings, and
// will not take them later either.
var ErrRefused = errors.New("refused by the embedding model")

// errTooLong is of a text that does not fit the model's window.
var errTooLong = fmt.Errorf("%w: too long", ErrRefused)

// errSilent is of a server that took too long.
var errSilent = fmt.Errorf("%w: no answer", ErrUnavailable)

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnavailable, fmt.Sprintf(format, args...))
}

// explain names the reason of an error of the api package where callers can
// act on it. What is no status is a network that fails or an answer that is
// cut.
func explain(err error) error {
	var refused api.StatusError
	if !errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	says := refused.ErrorMessage
	switch code := refused.StatusCode; {
	case code == http.StatusBadRequest && (strings.Contains(says, "context length") || strings.Contains(says, "context size")):
		return fmt.Errorf("%w: %w", errTooLong, err)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: the server does not have it, ollama pull fetches it (%w)", ErrUnavailable, err)
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, isNaN(says):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// isNaN tells a text that some models cannot embed, each time anew
// (github.com/ollama/ollama issue 9639), from a server that fails.
func isNaN(says string) bool { return strings.Contains(says, "unsupported value: NaN") }

// limit bounds f by d. Time that is over because of d is the server's fault.
func limit(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := f(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil:
		return fmt.Errorf("%w within %v", errSilent, d)
	}
	return err
}
