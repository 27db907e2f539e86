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
	// sendReserve is the part of the deadline reserved for sending the plain answer when
	// the rendering agent has sent nothing.
	sendReserve = 2 * time.Second
)

// render sends the finished analysis to the rendering agent and streams its text. When
// the agent is unavailable, or fails before its first text, render sends the plain
// answer as a direct_response.
func (a analyzer) render(ctx context.Context, req schemas.Analysis, l *loop, to bus.Sender) error {
	agent := bus.Stream[schemas.Rendering]{Subject: a.Render, Timeout: renderTimeout}
	finished := schemas.Rendering{
		Query: req.Query, Mode: req.Mode, Answer: l.answer.String(), ToolUses: uses(l.results), ToolResults: answers(l.results),
		Prompt: req.Prompt, Profile: req.Profile,
	}
	var rendered strings.Builder
	timeout := renderTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)-sendReserve)
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for event, err := range agent.Call(waiting, a.Conn, finished) {
		if err == nil && event.Type == schemas.EventError {
			err = agentError(event.Data)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil && rendered.Len() > 0:
			return schemas.ErrUnavailable.Because("rendering agent: " + err.Error())
		case err != nil:
			return to.Send(schemas.EventDirectResponse, directResponse(l.answer.String(), err))
		case event.Type != schemas.EventTextDelta:
			continue
		}
		var delta schemas.TextDelta
		if err := json.Unmarshal(event.Data, &delta); err != nil {
			return schemas.ErrUnavailable.Because("rendering agent: invalid text_delta: " + err.Error())
		}
		if err := to.Send(schemas.EventTextDelta, delta); err != nil {
			return err
		}
		rendered.WriteString(delta.Text)
	}
	if rendered.Len() == 0 {
		return to.Send(schemas.EventDirectResponse, directResponse(l.answer.String(), errors.New("empty answer")))
	}
	l.answer.Reset()
	l.answer.WriteString(rendered.String()) // provenance covers the text that the caller receives
	return nil
}

func uses(results []result) []schemas.ToolUse {
	all := []schemas.ToolUse{}
	for _, r := range results {
		all = append(all, r.toolUse())
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

// agentError returns the error in an error event of the agent.
func agentError(data []byte) error {
	var e schemas.StreamError
	if err := json.Unmarshal(data, &e); err != nil || e.Message == "" {
		return errors.New(string(data))
	}
	return errors.New(e.Message)
}
