package model

import "errors"

// ErrUnavailable says that the model cannot be asked now: its server is away,
// silent or full, or lacks the model or the ability to call tools. Asking
// again later, or after the operator has acted, may succeed.
var ErrUnavailable = errors.New("language model unavailable")

// ErrTooLong says that the conversation, or the answer to it, does not fit
// the model's context. A shorter conversation may succeed.
var ErrTooLong = errors.New("too long for the language model's context")

// IncompleteError says how a model's answer is incomplete, in words for the
// caller. Retrying may succeed.
type IncompleteError string

// Error implements error.
func (e IncompleteError) Error() string { return string(e) }

// ErrEmpty is the IncompleteError of an answer without visible text and calls.
const ErrEmpty = IncompleteError("the model returned an empty answer")
