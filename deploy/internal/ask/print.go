package ask

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/client"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// ended returns failed if e is the last event, otherwise nil.
func ended(e client.Event, failed error) error {
	if e.Kind == schemas.EventDone {
		return failed
	}
	return nil
}

// reader prints an answer as text.
type reader struct {
	out, errOut io.Writer
	open        bool // the last line has no line break yet
	failed      error
}

func (p *reader) take(e client.Event) error {
	switch e.Kind {
	case schemas.EventTextDelta:
		return decoded(e, p.say)
	case schemas.EventToolUse:
		return decoded(e, p.use)
	case schemas.EventToolResult:
		return decoded(e, p.result)
	case schemas.EventDirectResponse:
		return decoded(e, p.direct)
	case schemas.EventError:
		return decoded(e, func(s schemas.StreamError) error {
			p.failed = errors.New(s.Code + " " + s.Message)
			return nil
		})
	case schemas.EventDone:
		return p.endLine()
	default:
		return nil
	}
}

func decoded[T any](e client.Event, take func(T) error) error {
	var v T
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return fmt.Errorf("decode event %s: %w", e.Kind, err)
	}
	return take(v)
}

func (p *reader) say(d schemas.TextDelta) error {
	p.open = !strings.HasSuffix(d.Text, "\n")
	_, err := io.WriteString(p.out, d.Text)
	return err
}

func (p *reader) direct(d schemas.DirectResponse) error {
	if err := p.aside("rendering agent unavailable: " + d.Reason); err != nil {
		return err
	}
	return p.say(schemas.TextDelta{Text: d.Text})
}

func (p *reader) use(u schemas.ToolUse) error {
	return p.aside(u.Name + " " + string(u.Input))
}

func (p *reader) result(r schemas.ToolResult) error {
	return p.aside("  → " + brief(r.Result))
}

// aside prints a line on errOut.
func (p *reader) aside(text string) error {
	if err := p.endLine(); err != nil {
		return err
	}
	return output.Dimmed(p.errOut, text)
}

func (p *reader) endLine() error {
	if !p.open {
		return nil
	}
	p.open = false
	_, err := io.WriteString(p.out, "\n")
	return err
}

// briefLength is the maximum number of bytes shown of a tool result.
const briefLength = 160

// brief returns v, truncated to briefLength.
func brief(v jsontext.Value) string {
	if len(v) <= briefLength {
		return string(v)
	}
	return strings.ToValidUTF8(string(v[:briefLength]), "") + "…"
}
