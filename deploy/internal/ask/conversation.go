package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// Limits of the history of a conversation, below those of an analysis.
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

// converse asks the questions that the user types, until the end of the input. An
// interrupt cancels the current answer only.
func (a *ask) converse(ctx context.Context, c *client.Client, estate string, in lines, out, errOut io.Writer) error {
	var history conversation
	var suggestions []string // of the previous answer
	if err := output.Dimmed(errOut, "Ask about the estate. Ctrl-C cancels an answer, Ctrl-D ends the conversation."); err != nil {
		return err
	}
	for {
		text, err := in.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text = strings.TrimSpace(text)
		switch text {
		case "":
			continue
		case "exit", "quit", "/exit", "/quit":
			return nil
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(suggestions) {
			text = suggestions[n-1]
			if err := output.Dimmed(errOut, text); err != nil {
				return err
			}
		}
		question := a.question(text, estate)
		question.Include = append(question.Include, schemas.EventSuggestions)
		question.Prompt = history.prompt()
		answer, err := a.answer(ctx, c, question, out, errOut)
		suggestions = answer.suggestions
		switch {
		case errors.Is(err, context.Canceled):
			err = output.Dimmed(errOut, "canceled")
		case err != nil:
			err = output.Warning(errOut, output.OneLine(err))
		default:
			history.add(text, answer.text)
			err = printSuggestions(errOut, suggestions)
		}
		if err != nil {
			return err
		}
	}
}

// printSuggestions prints questions with the numbers that ask them.
func printSuggestions(errOut io.Writer, suggestions []string) error {
	for i, text := range suggestions {
		if err := output.Dimmed(errOut, fmt.Sprintf("  %d  %s", i+1, text)); err != nil {
			return err
		}
	}
	return nil
}

// answer asks one question. An interrupt cancels it; the context of the command, which an
// interrupt ends for good, does not.
func (a *ask) answer(ctx context.Context, c *client.Client, q schemas.Analysis, out, errOut io.Writer) (answer, error) {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt)
	defer stop()
	run, err := c.Analyze(ctx, q)
	if err != nil {
		return answer{}, err
	}
	return a.print(run, out, errOut)
}

// isInteractive reports whether the user of cmd can have a conversation.
func isInteractive(cmd *cobra.Command) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && output.IsTerminal(cmd.OutOrStdout())
}

// terminal reads lines with editing and history.
type terminal struct {
	*term.Terminal
	fd int
}

func newTerminal(_ io.Writer) lines {
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
