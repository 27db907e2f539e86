package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// failure is an error object of Elasticsearch.
type failure struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

func (f failure) String() string { return f.Type + ": " + f.Reason }

// statusError is a response with an error status.
type statusError struct {
	code int
	failure
}

func newStatusError(code int, body []byte) *statusError {
	var answer struct {
		Error failure `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Type == "" {
		answer.Error = failure{http.StatusText(code), string(body[:min(len(body), 200)])}
	}
	return &statusError{code, answer.Error}
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.code, e.failure) }

// invalid reports whether the request was invalid: retries cannot succeed.
func (e *statusError) invalid() bool {
	return e.code == http.StatusBadRequest || e.code == http.StatusNotFound ||
		e.code == http.StatusRequestEntityTooLarge
}

// tooLarge reports whether a smaller request might succeed.
func tooLarge(err error) bool {
	var status *statusError
	return errors.As(err, &status) &&
		(status.code == http.StatusBadRequest || status.code == http.StatusRequestEntityTooLarge)
}

// connectionError is a request without a response.
type connectionError struct{ err error }

func (e *connectionError) Error() string { return e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }
