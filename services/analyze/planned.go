package analyze

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/schemas"
	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
	"cairn/services/internal/model"
	"cairn/services/internal/model/plan"
)

const (
	// maxPlanTokens bounds a plan. A call has about 60 tokens.
	maxPlanTokens = 500
	// maxTextTokens bounds the text of an answer.
	maxTextTokens = 1000
	// cannotAnswer begins every answer that declines.
	cannotAnswer = "This cannot be answered: "
	// planPrompt follows a message that is no plan.
	planPrompt = `Write one JSON object {"calls": [...]} and nothing else.`
	// writePrompt precedes the results.
	writePrompt = "Now answer the question in one to three sentences of plain prose, in its language, without JSON. Every number must be one of " +
		"these results; calculate nothing. Results:\n"
	// maxBreakdowns bounds the computations of an overview.
	maxBreakdowns = 3
)

// planned answers a question by a plan: the model plans, the tools compute, and the results are stated, or written
// by the model and checked.
type planned struct {
	*loop
	linked  *plan.Question
	history []model.Message
	asked   int    // messages of the conversation that end with the question
	text    string // of the plan
}

// answer plans, computes and answers.
func (p *planned) answer(ctx context.Context, mode string) error {
	if len(p.tools.estate.Keys()) == 0 {
		return p.decline(p.tools.estate.Contents().Note)
	}
	if mode == schemas.ModeBroad && plan.General(p.linked) {
		return p.overview(ctx)
	}
	made, err := p.makePlan(ctx)
	switch {
	case errors.Is(err, plan.ErrNoPlan):
		return p.decline("the model planned no computation")
	case err != nil:
		return err
	case made.Overview:
		return p.overview(ctx)
	case made.Conversation:
		return p.recall()
	case len(made.Calls) == 0:
		return p.decline("the data does not contain it" + p.reason(ctx, made.NotInData))
	}
	open := made.Open()
	made.Calls = slices.DeleteFunc(made.Calls, func(c plan.Call) bool { return c.DataKey == "" })
	if len(made.Calls) == 0 {
		return p.decline(strings.Join(open, "; "))
	}
	var calls []model.Call
	for _, c := range made.Calls {
		calls = append(calls, p.newCall(computeStats, c.Query(p.intent)))
		p.notes[calls[len(calls)-1].ID] = c.Notes
	}
	if err := p.runCalls(ctx, calls, maxResult/len(calls)); err != nil {
		return err
	}
	if len(open) > 0 {
		p.suggestions = plan.Suggestions(p.linked)
		return p.sendText(cannotAnswer + markdown.Escape(strings.Join(open, "; ")) + ".\n\nWithout that: " + p.statements())
	}
	if p.answers == model.AnswersStated {
		return p.sendText(p.statements())
	}
	return p.write(ctx)
}

// decline sends why the question cannot be answered, and what the data holds.
func (p *planned) decline(reason string) error {
	p.suggestions = plan.Suggestions(p.linked)
	return p.sendText(cannotAnswer + markdown.Escape(reason) + ". " + p.offer())
}

// newCall returns a call with the next id.
func (p *planned) newCall(tool string, input any) model.Call {
	p.usage.ToolCalls++
	return model.Call{ID: fmt.Sprintf("call_%d", p.usage.ToolCalls), Name: tool, Input: plan.JSON(input)}
}

// makePlan returns the checked plan of the question. A call with problems is planned once more under a schema that
// leaves no way around them. Remaining problems are in Open.
func (p *planned) makePlan(ctx context.Context) (plan.Plan, error) {
	prompt := plan.NewPrompt(p.linked)
	c := model.Conversation{
		Rules: prompt.System, Messages: append(p.history, model.Message{Role: model.User, Text: prompt.User}),
		Schema: plan.NewSchema(p.linked, prompt.Arrays, plan.Restriction{}), MaxTokens: maxPlanTokens, Question: p.linked,
	}
	made, text, err := p.request(ctx, c)
	if errors.Is(err, plan.ErrNoPlan) {
		c.Messages = append(c.Messages, model.Message{Role: model.User, Text: planPrompt})
		made, text, err = p.request(ctx, c)
	}
	if err != nil {
		return made, err
	}
	p.asked, p.text = len(c.Messages), text
	for i := range made.Calls {
		if err := p.revise(ctx, c, prompt.Arrays, &made.Calls[i]); err != nil {
			return made, err
		}
	}
	made.Compact()
	return made, nil
}

// revise checks a call, and requests another plan if that may help and the deadline is not near.
func (p *planned) revise(ctx context.Context, c model.Conversation, arrays []*plan.Array, call *plan.Call) error {
	var second plan.Plan
	problems := plan.Check(p.linked, call)
	if len(problems) > 0 && problems[0].Restriction != nil {
		c.Messages = append(c.Messages, exchange(p.text, problems[0].Note)...)
		c.Schema = plan.NewSchema(p.linked, arrays, *problems[0].Restriction)
		bounded, cancel := beforeDeadline(ctx)
		defer cancel()
		var err error
		second, _, err = p.request(bounded, c)
		late := bounded.Err() != nil && ctx.Err() == nil
		if err != nil && !errors.Is(err, plan.ErrNoPlan) && !late {
			return err
		}
	}
	call.Revise(p.linked, second, problems)
	return nil
}

// exchange returns a message of the model, unless it is empty, and the reply to it.
func exchange(text, reply string) []model.Message {
	if text == "" {
		return []model.Message{{Role: model.User, Text: reply}}
	}
	return []model.Message{{Role: model.Assistant, Text: text}, {Role: model.User, Text: reply}}
}

// request returns the plan in the model's next message, and its text.
func (p *planned) request(ctx context.Context, c model.Conversation) (plan.Plan, string, error) {
	p.conversation = c
	var text strings.Builder
	_, err := p.receive(ctx, func(piece string) error { text.WriteString(piece); return nil })
	var incomplete model.IncompleteError
	switch {
	case errors.As(err, &incomplete): // cut off, or repeated
		return plan.Plan{}, "", fmt.Errorf("%w: %w", plan.ErrNoPlan, err)
	case err != nil:
		return plan.Plan{}, "", fmt.Errorf("call model: %w", err)
	}
	made, err := plan.Parse(text.String())
	return made, text.String(), err
}

// write lets the model put the results into words. The results are stated instead if it fails, or the deadline is near.
func (p *planned) write(ctx context.Context) error {
	bounded, cancel := beforeDeadline(ctx)
	defer cancel()
	// The conversation continues, so that the server reads only the results.
	c := model.Conversation{Rules: p.conversation.Rules, Messages: p.conversation.Messages[:p.asked:p.asked],
		MaxTokens: maxTextTokens}
	c.Messages = append(c.Messages, exchange(p.text, writePrompt+p.statements())...)
	out := &checkedText{ctx: ctx, tracer: newTracer(p.question, p.results), send: p.sendText}
	var err error
	for range 2 {
		p.conversation = c
		_, err = p.receive(bounded, out.add)
		if err == nil {
			err = out.rest()
		}
		var figure unsupportedError
		if !errors.As(err, &figure) {
			break
		}
		c.Messages = append(c.Messages, exchange(out.sent.String(), figure.Error())...)
		out.held = ""
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && out.sent.Len() > 0:
		return p.sendText("\n\n" + p.statements())
	case err != nil || out.sent.Len() == 0:
		return p.sendText(p.statements())
	}
	return nil
}

// overview states the arrays, their sizes, and breakdowns of the largest ones.
func (p *planned) overview(ctx context.Context) error {
	calls := []model.Call{p.newCall(inspectSchema, map[string]string{"data_key": ""})}
	for _, c := range plan.Breakdowns(p.linked, maxBreakdowns) {
		calls = append(calls, p.newCall(computeStats, c.Query(plan.Intent{})))
	}
	if err := p.runCalls(ctx, calls, maxResult/len(calls)); err != nil {
		return err
	}
	const most = 20
	contents, _ := p.results[0].value.(estate.Contents)
	var b strings.Builder
	fmt.Fprintf(&b, "Arrays of the data, with their records: ")
	for i, a := range contents.Arrays[:min(most, len(contents.Arrays))] {
		fmt.Fprintf(&b, "%s%s %d", map[bool]string{true: "", false: "; "}[i == 0], name(a.DataKey), a.Count)
	}
	if rest := len(contents.Arrays) - most; rest > 0 {
		fmt.Fprintf(&b, "; and %d more arrays", rest)
	}
	b.WriteByte('.')
	if len(calls) > 1 {
		b.WriteString("\n\n" + p.statements())
	}
	return p.sendText(b.String())
}

// recall repeats the last answer of the conversation.
func (p *planned) recall() error {
	for _, m := range slices.Backward(p.history) {
		if m.Role == model.Assistant {
			return p.sendText("The previous answer was:\n\n" + m.Text)
		}
	}
	return p.decline("there is no earlier answer in this conversation")
}

// reason returns why the data does not contain the answer, as the model says, without figures: nothing was computed.
func (p *planned) reason(ctx context.Context, text string) string {
	text = strings.TrimRight(text, ". ")
	if text == "" || newTracer(p.question, nil).unsupported(ctx, text) != "" {
		return ""
	}
	return ": " + text
}
