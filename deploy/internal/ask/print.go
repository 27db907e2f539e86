package ask

import (
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// reader prints an answer as text.
type reader struct {
	out, errOut io.Writer
	answer      *output.Markdown
	text        strings.Builder // of the answer
	suggestions []string        // questions to ask in place of a declined one
	waiting     *output.Progress
	verdict     *verdict
}

func newReader(out, errOut io.Writer, v *verdict) *reader {
	return &reader{
		out: out, errOut: errOut, verdict: v, answer: output.NewMarkdown(out), waiting: output.NewProgress(errOut, "waiting for the answer", -1),
	}
}

func (p *reader) handle(e client.Event) error {
	switch e.Type {
	case schemas.EventTextDelta:
		return decoded(e, p.writeText)
	case schemas.EventToolUse:
		return decoded(e, p.printCall)
	case schemas.EventToolResult:
		return decoded(e, p.result)
	case schemas.EventDirectResponse:
		return decoded(e, p.direct)
	case schemas.EventProvenance:
		return decoded(e, p.warn)
	case schemas.EventSuggestions:
		return decoded(e, func(s schemas.Suggestions) error {
			p.suggestions = s.Questions
			return nil
		})
	case schemas.EventDone:
		return p.answer.Close()
	default:
		return nil
	}
}

func decoded[T any](e client.Event, handle func(T) error) error {
	var v T
	if err := e.Decode(&v); err != nil {
		return err
	}
	return handle(v)
}

func (p *reader) writeText(d schemas.TextDelta) error {
	p.text.WriteString(d.Text)
	return p.answer.Write(d.Text)
}

func (p *reader) direct(d schemas.DirectResponse) error {
	if err := p.printNote("rendering agent unavailable: " + d.Reason); err != nil {
		return err
	}
	return p.writeText(schemas.TextDelta{Text: d.Text})
}

func (p *reader) printCall(u schemas.ToolUse) error {
	err := p.printNote(u.Name + " " + string(u.Input))
	p.waiting = output.NewProgress(p.errOut, "waiting for "+u.Name, -1)
	return err
}

func (p *reader) result(r schemas.ToolResult) error {
	err := p.printNote("  → " + truncate(r.Result))
	p.waiting = output.NewProgress(p.errOut, "waiting for the answer", -1)
	return err
}

// warn marks the unsupported figures in the answer, and lists them on out, so that they
// accompany an answer that is redirected to a file.
func (p *reader) warn(found schemas.Provenance) error {
	figures := make([]output.Figure, len(found.Figures))
	for i, f := range found.Figures {
		figures[i] = output.Figure{Text: f.Text, Unsupported: f.Flagged}
	}
	err := p.answer.MarkFigures(figures)
	if err != nil || len(p.verdict.unsupported) == 0 {
		return err
	}
	if err := p.answer.Close(); err != nil {
		return err
	}
	return output.Warning(p.out, "Unsupported by any tool result: "+strings.Join(p.verdict.unsupported, ", "))
}

// printNote prints a line on errOut.
func (p *reader) printNote(text string) error {
	if err := p.answer.Break(); err != nil {
		return err
	}
	return output.Dimmed(p.errOut, text)
}

// briefLength is the maximum number of bytes shown of a tool result.
const briefLength = 160

// truncate returns v, truncated to briefLength.
func truncate(v jsontext.Value) string {
	if len(v) <= briefLength {
		return string(v)
	}
	return strings.ToValidUTF8(string(v[:briefLength]), "") + "…"
}
