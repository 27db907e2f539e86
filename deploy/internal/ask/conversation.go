package ask

import (
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"cairn/schemas"
)

// Limits of the history of a conversation, lower than the limits of an analysis.
const (
	maxMessages     = 100
	maxHistoryBytes = 200 << 10
)

// conversation is the history of questions and answers.
type conversation struct{ messages []schemas.Utterance }

// add adds a question with its answer, and evicts the oldest ones beyond the limits.
func (c *conversation) add(question, answer string) {
	c.messages = append(c.messages, schemas.Utterance{R: 0, C: question}, schemas.Utterance{R: 1, C: answer})
	size := 0
	for _, m := range c.messages {
		size += len(m.C)
	}
	for len(c.messages) > maxMessages || size > maxHistoryBytes {
		size -= len(c.messages[0].C) + len(c.messages[1].C)
		c.messages = c.messages[2:]
	}
}

// prompt returns the history for the next question; nil: none.
func (c *conversation) prompt() *schemas.Prompt {
	if len(c.messages) == 0 {
		return nil
	}
	p := &schemas.Prompt{M: map[string]schemas.Utterance{}}
	for i, m := range c.messages {
		p.M[strconv.Itoa(i)] = m
	}
	return p
}

// lines reads the lines of a user.
type lines interface {
	// ReadLine returns the next line, or io.EOF.
	ReadLine() (string, error)
}

// terminal reads lines with editing and history.
type terminal struct {
	*term.Terminal
	fd int
}

func newTerminal() lines {
	device := struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout}
	return &terminal{term.NewTerminal(device, "? "), int(os.Stdin.Fd())}
}

// ReadLine implements lines. The terminal is in raw mode only while it reads, so that an
// interrupt during an answer is a signal.
func (t *terminal) ReadLine() (line string, err error) {
	state, err := term.MakeRaw(t.fd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.Restore(t.fd, state)) }()
	if width, height, err := term.GetSize(t.fd); err == nil && width > 0 {
		_ = t.SetSize(width, height) // the default size is used instead
	}
	return t.Terminal.ReadLine()
}
