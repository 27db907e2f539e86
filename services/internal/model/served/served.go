// Package served has what the clients of model servers share.
package served

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"cairn/services/internal/model"
)

// ErrLeft ends a message whose consumer has left the loop.
var ErrLeft = errors.New("the caller left the loop")

// The ways in which a message may be incomplete, beside model.ErrEmpty.
const (
	ErrCut    = model.IncompleteError("the model's stream ended before its last part")
	ErrBroken = model.IncompleteError("the model's server failed")
)

// TokenLimit is the error for an answer of so many tokens that the server ended
// at a limit: its context window (0: unknown) when prompt and answer fill it,
// else a limit on the answer alone.
func TokenLimit(prompt, answer, window int) error {
	limit := answer
	if window > 0 && prompt+answer >= window {
		limit = window
	}
	said := model.IncompleteError("the model's answer was cut off at its token limit")
	if limit > 0 {
		said += model.IncompleteError(fmt.Sprintf(" of %d", limit))
	}
	return said
}

// Speech passes on the parts of a message as they come. It is for one goroutine.
type Speech struct {
	Yield func(model.Part, error) bool

	spoke bool
	space string // white space held back until something follows it
}

// Spoke reports whether a part was passed on: who listens would hear it again
// in a second attempt.
func (s *Speech) Spoke() bool { return s.spoke }

// Restart is for another attempt, after one that said nothing.
func (s *Speech) Restart() { s.space = "" }

// Say passes on text, but none before the first that can be seen: white space
// alone is an empty message. The error is [ErrLeft] when nobody listens.
func (s *Speech) Say(text string) error {
	if !s.spoke {
		text = s.space + text
		s.space = ""
		if strings.TrimFunc(text, unicode.IsSpace) == "" {
			s.space = text
			return nil
		}
	}
	if text == "" {
		return nil
	}
	return s.Emit(model.Part{Text: text})
}

// Emit passes on a part. The error is [ErrLeft] when nobody listens.
func (s *Speech) Emit(p model.Part) error {
	s.spoke = true
	if !s.Yield(p, nil) {
		return ErrLeft
	}
	return nil
}
