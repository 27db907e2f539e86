package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/breaker"
)

// ErrUnavailable is a transient failure: the server is unreachable, slow or
// overloaded, lacks the model, or has replaced it. A retry may succeed, possibly
// after the operator has acted.
var ErrUnavailable = errors.New("embedding model unavailable")

// ErrRejected is permanent: the server rejects the text or the settings.
var ErrRejected = errors.New("rejected by the embedding model")

// errTooLong is returned for a text that exceeds the model's window.
var errTooLong = fmt.Errorf("%w: too long", ErrRejected)

// errTimeout is returned when a request timed out.
var errTimeout = fmt.Errorf("%w: timeout", ErrUnavailable)

// newBreaker returns a circuit breaker for a server of vectors.
func newBreaker() *breaker.Breaker {
	return breaker.New(breaker.Settings{
		Failures:    3,
		Failed:      func(err error) bool { return !errors.Is(err, ErrRejected) },
		SlowAfter:   250 * time.Millisecond,
		Unavailable: ErrUnavailable,
	})
}

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnavailable, fmt.Sprintf(format, args...))
}

// explain classifies an error of the api package. An error without a status is a
// network failure or a truncated response.
func explain(err error) error {
	var rejected api.StatusError
	if !errors.As(err, &rejected) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	message := rejected.ErrorMessage
	switch code := rejected.StatusCode; {
	case code == http.StatusBadRequest &&
		(strings.Contains(message, "context length") || strings.Contains(message, "context size")):
		return fmt.Errorf("%w: %w", errTooLong, err)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: model not found on the server; run ollama pull (%w)", ErrUnavailable, err)
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, isNaN(message):
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// isNaN reports whether the message is Ollama's NaN error, which is permanent for a text
// (https://github.com/ollama/ollama/issues/9639).
func isNaN(message string) bool { return strings.Contains(message, "unsupported value: NaN") }

// limit runs f with a timeout of d. A timeout caused by d is the server's failure.
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
		return fmt.Errorf("%w after %v", errTimeout, d)
	}
	return err
}
