package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// failure is how Elasticsearch tells of an error.
type failure struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

func (f failure) String() string { return f.Type + ": " + f.Reason }

// statusError is an answer that is an error.
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

// ours reports whether the request is at fault, not the server.
func (e *statusError) ours() bool {
	return e.code == http.StatusBadRequest || e.code == http.StatusNotFound ||
		e.code == http.StatusRequestEntityTooLarge
}

// tooMuch reports whether fewer documents at a time might do.
func tooMuch(err error) bool {
	var status *statusError
	return errors.As(err, &status) &&
		(status.code == http.StatusBadRequest || status.code == http.StatusRequestEntityTooLarge)
}

// connectionError is a request that got no answer.
type connectionError struct{ err error }

func (e *connectionError) Error() string { return e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }
