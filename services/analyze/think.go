package analyze

import "strings"

// Tags around the reasoning in the text of some models.
const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// thoughts removes reasoning between the tags from streamed text. Most servers do so themselves. If
// the server's template puts the opening tag into the prompt, only the server can remove the
// reasoning: the text starts like an answer, and text that was sent cannot be withdrawn, so the
// reasoning is shown.
type thoughts struct {
	held   string // possibly the beginning of a tag
	inside bool
}

// add adds a piece and returns the text that can be sent.
func (t *thoughts) add(piece string) string {
	t.held += piece
	var out strings.Builder
	for {
		tag := openTag
		if t.inside {
			tag = closeTag
		}
		before, after, tagged := strings.Cut(t.held, tag)
		if !tagged {
			end := len(t.held) - overlap(t.held, tag)
			before, after = t.held[:end], t.held[end:]
		}
		if !t.inside {
			out.WriteString(before)
		}
		t.held = after
		if !tagged {
			return out.String()
		}
		t.inside = !t.inside
	}
}

// rest returns the text held back at the end of the message.
func (t *thoughts) rest() string {
	if t.inside {
		return ""
	}
	return t.held
}

// overlap returns the length of the longest suffix of text that is a prefix of tag.
func overlap(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}
