package analyze

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
)

const (
	// renderTimeout bounds the rendering of one finished analysis.
	renderTimeout = 60 * time.Second
	// spare is what is left of the caller's time to send the plain answer, when
	// the rendering agent has not spoken until then.
	spare = 2 * time.Second
)

// render hands the finished analysis to the rendering agent and sends on its
// text. When the agent is away, or fails before its first word, the plain
// answer goes out as a direct_response.
func (a analyzer) render(ctx context.Context, ask schemas.Analysis, l *loop, to bus.Sender) error {
	agent := bus.Stream[schemas.Rendering]{Subject: a.Render, Timeout: renderTimeout}
	finished := schemas.Rendering{
		Query: ask.Query, Mode: ask.Mode, Answer: l.answer.String(), ToolUses: uses(l.results), ToolResults: answers(l.results),
		Prompt: ask.Prompt, Profile: ask.Profile,
	}
	var spoken strings.Builder
	patience := renderTimeout
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)-spare)
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for event, err := range agent.Call(waiting, a.Conn, finished) {
		if err == nil && event.Type == schemas.EventError {
			err = agentError(event.Data)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil && spoken.Len() > 0:
			return schemas.ErrUnavailable.Because("rendering agent: " + err.Error())
		case err != nil:
			return to.Send(schemas.EventDirectResponse, directResponse(l.answer.String(), err))
		case event.Type != schemas.EventTextDelta:
			continue
		}
		var delta schemas.TextDelta
		if err := json.Unmarshal(event.Data, &delta); err != nil {
			return schemas.ErrUnavailable.Because("rendering agent: a text_delta that cannot be read: " + err.Error())
		}
		if err := to.Send(schemas.EventTextDelta, delta); err != nil {
			return err
		}
		spoken.WriteString(delta.Text)
	}
	if spoken.Len() == 0 {
		return to.Send(schemas.EventDirectResponse, directResponse(l.answer.String(), errors.New("it said nothing")))
	}
	l.answer.Reset()
	l.answer.WriteString(spoken.String()) // is what the caller reads
	return nil
}

func uses(results []result) []schemas.ToolUse {
	all := []schemas.ToolUse{}
	for _, r := range results {
		all = append(all, r.use())
	}
	return all
}

func answers(results []result) []jsontext.Value {
	var all []jsontext.Value
	for _, r := range results {
		all = append(all, r.answer)
	}
	return all
}

func directResponse(text string, err error) schemas.DirectResponse {
	return schemas.DirectResponse{
		Text: text, Code: schemas.ErrAnalysisUnavailable.Code, Reason: "rendering agent unavailable: " + err.Error(),
	}
}

// agentError is the failure that the agent's own error event tells of.
func agentError(data []byte) error {
	var e schemas.StreamError
	if err := json.Unmarshal(data, &e); err != nil || e.Message == "" {
		return errors.New(string(data))
	}
	return errors.New(e.Message)
}
