// Package served contains the common parts of clients of model servers.
package served

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"

	"cairn/services/internal/model"
)

// ErrStopped ends a message whose consumer broke out of the loop.
var ErrStopped = errors.New("the consumer stopped the iteration")

// Errors for incomplete messages, besides model.ErrEmpty.
const (
	ErrTruncated = model.IncompleteError("the model's stream ended before its last part")
	ErrServer    = model.IncompleteError("the model's server failed")
)

// TokenLimit returns the error for a message of answer tokens that the server ended at
// a limit: the context window (0: unknown) if prompt and answer fill it, else a limit
// on the answer.
func TokenLimit(prompt, answer, window int) error {
	limit := answer
	if window > 0 && prompt+answer >= window {
		limit = window
	}
	err := model.IncompleteError("the model's answer was cut off at its token limit")
	if limit > 0 {
		err += model.IncompleteError(fmt.Sprintf(" of %d", limit))
	}
	return err
}

// Message returns the iterator of [model.Model] over a message. It yields the parts that
// receive writes, and at the end the usage, or an error that names the model's URL.
func Message(url string, receive func(*Writer) (model.Usage, error)) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		usage, err := receive(&Writer{yield: yield})
		switch {
		case errors.Is(err, ErrStopped):
		case err != nil:
			yield(model.Part{}, fmt.Errorf("call %s: %w", url, err))
		default:
			yield(model.Part{Usage: &usage}, nil)
		}
	}
}

// Writer yields the parts of a message. It is not safe for concurrent use.
type Writer struct {
	yield   func(model.Part, error) bool
	started bool
	space   string // leading white space, held back until other text follows

	repetition repetition
}

// Started reports whether a part was yielded. A message that has started cannot be
// retried, because the consumer would get the part twice.
func (s *Writer) Started() bool { return s.started }

// Reset prepares for another attempt after one that yielded nothing.
func (s *Writer) Reset() { s.space, s.repetition = "", repetition{} }

// Inspect checks text of the message that Text does not yield, such as the input of a
// call. It returns [ErrRepetition] if the message repeats itself.
func (s *Writer) Inspect(text string) error { return s.repetition.add(text) }

// Text inspects and yields text, but leading white space only together with other text: a message
// of white space is empty. It returns [ErrStopped] if the consumer broke out of the loop.
func (s *Writer) Text(text string) error {
	if err := s.Inspect(text); err != nil {
		return err
	}
	if !s.started {
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
	return s.Send(model.Part{Text: text})
}

// Send yields a part. It returns [ErrStopped] if the consumer broke out of the loop.
func (s *Writer) Send(p model.Part) error {
	s.started = true
	if !s.yield(p, nil) {
		return ErrStopped
	}
	return nil
}
