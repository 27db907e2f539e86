package model

import "errors"

// ErrUnavailable reports that the model cannot serve requests now: its server is
// unreachable, stalled or overloaded, or does not have the model, or the model cannot
// call tools. A later retry, or one after the operator has intervened, may succeed.
var ErrUnavailable = errors.New("language model unavailable")

// ErrTooLong reports that the conversation, or its answer, exceeds the model's
// context window. A shorter conversation may succeed.
var ErrTooLong = errors.New("too long for the language model's context")

// IncompleteError describes for the caller how a model's answer is incomplete.
// A retry may succeed.
type IncompleteError string

// Error implements error.
func (e IncompleteError) Error() string { return string(e) }

// ErrEmpty is the IncompleteError of an answer without visible text and calls.
const ErrEmpty = IncompleteError("the model returned an empty answer")
