// Package served is what models have in common whose words come from a server.
package served

import (
	"errors"
	"strings"
	"unicode"

	"cairn/services/internal/model"
)

// How a message may end, other than well.
var (
	ErrLeft   = errors.New("the caller left the loop")
	ErrCut    = errors.New("the answer ended before it was complete")
	ErrEmpty  = errors.New("the model answered nothing")
	ErrBroken = errors.New("the answer broke off")
)

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
