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
	text        strings.Builder // of the answer
	open        bool            // the last line of the answer is not ended
	suggestions []string        // questions to ask in place of a declined one
	waiting     *output.Progress
	verdict     verdict
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
		p.warn()
		return nil
	case schemas.EventSuggestions:
		return decoded(e, func(s schemas.Suggestions) error {
			p.suggestions = s.Questions
			return nil
		})
	case schemas.EventDone:
		p.endLine()
	}
	return nil
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
	if d.Text != "" {
		p.open = !strings.HasSuffix(d.Text, "\n")
	}
	_, err := io.WriteString(p.out, d.Text)
	return err
}

// endLine ends the last line of the answer, before other output on the same terminal.
func (p *reader) endLine() {
	if p.open {
		p.open = false
		output.Line(p.out, "")
	}
}

func (p *reader) direct(d schemas.DirectResponse) error {
	p.printNote("rendering agent unavailable: " + d.Reason)
	return p.writeText(schemas.TextDelta{Text: d.Text})
}

func (p *reader) printCall(u schemas.ToolUse) error {
	p.printNote(u.Name + " " + string(u.Input))
	p.waiting = output.NewProgress(p.errOut, "waiting for "+u.Name, -1)
	return nil
}

func (p *reader) result(r schemas.ToolResult) error {
	p.printNote("  → " + truncate(r.Result))
	p.waiting = output.NewProgress(p.errOut, "waiting for the answer", -1)
	return nil
}

// warn lists the unsupported figures on out, so that they accompany an answer that is redirected to a file.
func (p *reader) warn() {
	if len(p.verdict.unsupported) > 0 {
		p.endLine()
		output.Warning(p.out, "Unsupported by any tool result: "+strings.Join(p.verdict.unsupported, ", "))
	}
}

// printNote prints a line on errOut.
func (p *reader) printNote(text string) {
	p.endLine()
	output.Dimmed(p.errOut, text)
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
