package analyze

import "strings"

// Models that think aloud do so between these.
const (
	thinkBegin = "<think>"
	thinkEnd   = "</think>"
)

// thoughts takes out of a text, which comes in pieces, what the model thought
// between the marks. Most servers do so themselves. They alone can where the
// server's template has put the first mark into the prompt: such a text begins
// like an answer, and what was streamed cannot be taken back. It is shown whole.
type thoughts struct {
	held   string // may be the beginning of a mark
	inside bool
}

// without is what of the text up to the piece can be said, and was not yet.
func (t *thoughts) without(piece string) string {
	t.held += piece
	var said strings.Builder
	for {
		mark := thinkBegin
		if t.inside {
			mark = thinkEnd
		}
		before, after, found := strings.Cut(t.held, mark)
		if !found {
			end := len(t.held) - begun(t.held, mark)
			before, after = t.held[:end], t.held[end:]
		}
		if !t.inside {
			said.WriteString(before)
		}
		t.held = after
		if !found {
			return said.String()
		}
		t.inside = !t.inside
	}
}

// rest is what was held back when the text ended: no mark after all.
func (t *thoughts) rest() string {
	if t.inside {
		return ""
	}
	return t.held
}

// begun is how many bytes at the end of text are the beginning of mark.
func begun(text, mark string) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}
