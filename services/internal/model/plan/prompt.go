package plan

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed prompt.md
var rules string

// Bounds on a prompt, in bytes.
const (
	maxOutline = 3600 // of the estate
	maxHints   = 600
	maxListed  = 30 // of a value
)

// Prompt is the input of a model that plans.
type Prompt struct {
	System string   // the same for all questions about an estate whose outline fits
	User   string   // what depends on the question
	Arrays []*Array // that the outline describes
}

// NewPrompt returns the prompt for the question. An outline that does not fit has the two arrays that the question
// names most, and of their fields those that it names first.
func NewPrompt(q *Question) Prompt {
	question := "Question: " + q.Text + hints(q)
	if outline := q.v.outline(maxOutline); len(outline) <= maxOutline {
		return Prompt{System: rules + outline, User: question, Arrays: q.ranked()}
	}
	best, outline := reducedOutline(q, maxOutline)
	return Prompt{System: rules, User: outline + question, Arrays: best}
}

// Outline describes all arrays in about limit bytes, or the two that the question names most, with the keys of others.
func Outline(q *Question, limit int) string {
	if outline := q.v.outline(limit); len(outline) <= limit {
		return outline
	}
	best, outline := reducedOutline(q, limit/2)
	outline += "Further arrays:"
	for _, a := range q.ranked()[len(best):] {
		if len(outline)+len(a.Key) > limit {
			return outline + " …\n"
		}
		outline += " " + a.Key
	}
	return outline + "\n"
}

// reducedOutline describes the two arrays that the question names most, in about limit bytes.
func reducedOutline(q *Question, limit int) (best []*Array, outline string) {
	best = q.ranked()
	best = best[:min(2, len(best))]
	var b strings.Builder
	fmt.Fprintf(&b, "Arrays (%d of %d):\n", len(best), len(q.v.Arrays))
	for _, a := range best {
		b.WriteString(a.outline(q.relevant(a), limit/len(best)))
	}
	return best, b.String()
}

// hints returns the values that the question names, as the data spells them.
func hints(q *Question) string {
	var b strings.Builder
	listed := map[string]bool{}
	for _, a := range q.ranked()[:min(2, len(q.v.Arrays))] {
		for _, m := range q.mentions(a) {
			if m.value == nil || m.field.Level > 0 && listed[m.value.Text] || b.Len() > maxHints {
				continue
			}
			line := fmt.Sprintf("\n%s: %s = %s", a.Key, m.field.Path, m.value.Text)
			if !listed[line] {
				b.WriteString(line)
			}
			listed[line], listed[m.value.Text] = true, true
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nIn the data:" + b.String()
}
