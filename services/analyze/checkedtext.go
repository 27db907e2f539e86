package analyze

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// sentenceEnd matches the end of a sentence or a line.
var sentenceEnd = regexp.MustCompile(`[.!?]["')*_]*\s+|\n`)

// unsupportedError names a figure that no result supports, to the model.
type unsupportedError string

func (e unsupportedError) Error() string {
	return fmt.Sprintf("The figure %s is not in the results. Continue without it; use only figures of the results.",
		string(e))
}

// checkedText releases the text of a model sentence by sentence, once the results support every figure in it.
type checkedText struct {
	ctx    context.Context
	tracer *tracer
	send   func(string) error
	held   string // the sentence that is not complete
	sent   strings.Builder
}

// add adds a piece. It returns an unsupportedError for a sentence with an unsupported figure, which is not sent.
func (c *checkedText) add(piece string) error {
	c.held += piece
	for {
		boundary := sentenceEnd.FindStringIndex(c.held)
		if boundary == nil {
			return nil
		}
		if err := c.release(boundary[1]); err != nil {
			return err
		}
	}
}

// rest releases the last sentence.
func (c *checkedText) rest() error { return c.release(len(c.held)) }

func (c *checkedText) release(size int) error {
	text := c.held[:size]
	c.held = c.held[size:]
	if figure := c.tracer.unsupported(c.ctx, text); figure != "" {
		return unsupportedError(figure)
	}
	if c.sent.Len() == 0 {
		text = strings.TrimLeft(text, " \n")
	}
	if text == "" {
		return nil
	}
	c.sent.WriteString(text)
	return c.send(text)
}
