package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// answersOptions are the flags of cairn eval answers.
type answersOptions struct {
	connect.HTTP
	questions, estate string // files
	output            string
}

func answersCommand() *cobra.Command {
	a := &answersOptions{}
	cmd := &cobra.Command{
		Use:   "answers [--questions FILE --estate FILE|DIRECTORY]",
		Short: "Measure how many answers about an estate are right",
		Long: `Answers asks a running Cairn, and thereby its model, questions with known answers, one at
a time, and prints how many answers are right, wrong or declined, and the wrong answers.
Without --questions and --estate, it asks 20 built-in questions about a small built-in
estate of offices and laptops.

An answer is declined if it is not right and says that the question cannot be answered.
A tool call computes figures; an unsupported figure is in no tool result. Tokens and
seconds are those of questions with an answer. After Ctrl-C, the current question is the
last one.

--questions is a JSON Lines file, one question per line:
{"kind": "count", "question": "How many hosts are in Oslo?", "expected_answer": 16}.
expected_answer is, by kind:
  count, group, absent, distinct, sum   a number
  share, average                        a number, within "tolerance"; 1 for a share by default
  breakdown                             an object with a number for each name
  top, topn, list, compare, fields      a name, or an array of names
  yesno, nonnull, all                   "yes" or "no"
  not_in_data                           null: the answer must decline the question
"expected_value" is a number that a right answer states as well. If --estate is a directory,
"estate" is the name of a file in it, without .json or .json.gz. Rows with another "type"
than "nl" are skipped.

With --output json, the result is an object with the numbers questions (in the file), asked,
right, wrong, declined, errors, with_tool_call, with_unsupported_figures,
median_prompt_tokens, median_answer_tokens, median_seconds and slowest_seconds; the object
backends; the first error; and the array wrong_answers of objects with id, kind, question,
expected_answer, expected_value and answer.`,
		Example: `  cairn eval answers
  cairn eval answers --questions questions.jsonl --estate estate.json
  cairn eval answers -o json | jq '.wrong_answers[].question'`,
		Args:              flags.Args("no arguments", 0, 0),
		RunE:              a.run,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.questions, "questions", "",
		"JSON Lines `FILE` of questions with expected answers; empty: built-in questions")
	f.StringVar(&a.estate, "estate", "", "`FILE` of the estate of --questions, or directory of several")
	flags.Text(cmd, &a.output)
	return cmd
}

func (a *answersOptions) run(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	if err := flags.Paired("questions", a.questions, "estate", a.estate); err != nil {
		return err
	}
	questions, err := readQuestions(ctx, a.questions, a.estate)
	if err != nil {
		return err
	}
	if err := a.Client.Ping(ctx); err != nil {
		return err
	}
	shown := output.NewProgress(cmd.ErrOrStderr(), "asking", len(questions))
	answers, err := askAll(ctx, a.Client, questions, func() { shown.Add(1) })
	shown.Close()
	r := newAnswerReport(questions, answers)
	if h, err := a.Client.Health(context.WithoutCancel(ctx)); err == nil {
		r.Backends = connect.Backends(h, "analyze")
	}
	return errors.Join(output.Result{Value: r, Table: r.rows}.Print(cmd.OutOrStdout(), a.output), err)
}

// answer is the answer to a question with what its events report.
type answer struct {
	text        string
	called      bool           // a tool was called
	unsupported bool           // the answer has a figure that no tool result supports
	usage       *schemas.Usage // nil: the server reported none
	seconds     float64
	rejected    bool // err is that of the request, not of an event
	err         error
}

// askAll returns the answers to the first questions: to all of them, unless ctx is canceled, which does not cancel the
// current question, or the connection is lost. It calls each after every answer. If the server rejects every question,
// it returns the first error, too.
func askAll(ctx context.Context, c *client.Client, questions []question, each func()) (answers []answer, err error) {
	for _, q := range questions {
		if ctx.Err() != nil {
			return answers, ctx.Err()
		}
		a := ask(context.WithoutCancel(ctx), c, q)
		var lost *client.TransportError
		if a.rejected && errors.As(a.err, &lost) {
			return answers, a.err
		}
		answers = append(answers, a)
		each()
	}
	if !slices.ContainsFunc(answers, func(a answer) bool { return !a.rejected }) {
		return answers, answers[0].err
	}
	return answers, nil
}

func ask(ctx context.Context, c *client.Client, q question) (a answer) {
	began := time.Now()
	defer func() { a.seconds = time.Since(began).Seconds() }()
	run, err := c.Analyze(ctx, schemas.Analysis{
		Query: q.Question, Context: q.text, Target: schemas.TargetH,
		Include: []string{schemas.EventProvenance, schemas.EventUsage},
	})
	if err != nil {
		return answer{rejected: true, err: err}
	}
	for e, err := range run.Events() {
		if err == nil {
			err = a.handle(e)
		}
		a.err = cmp.Or(a.err, err)
	}
	return a
}

func (a *answer) handle(e client.Event) error {
	switch e.Type {
	case schemas.EventTextDelta, schemas.EventDirectResponse: // both have the member text
		var delta schemas.TextDelta
		err := e.Decode(&delta)
		a.text += delta.Text
		return err
	case schemas.EventToolUse:
		a.called = true
	case schemas.EventProvenance:
		var p schemas.Provenance
		err := e.Decode(&p)
		a.unsupported = slices.ContainsFunc(p.Figures, func(f schemas.Figure) bool { return f.Flagged })
		return err
	case schemas.EventUsage:
		a.usage = new(schemas.Usage)
		return e.Decode(a.usage)
	case schemas.EventError:
		var failure schemas.StreamError
		if err := e.Decode(&failure); err != nil {
			return err
		}
		return failure.Err()
	}
	return nil
}

// answerReport is the result of cairn eval answers.
type answerReport struct {
	Questions    int               `json:"questions"`
	Asked        int               `json:"asked"` // less than Questions after an interrupt or a lost connection
	Backends     map[string]string `json:"backends,omitempty"`
	Right        int               `json:"right"`
	Wrong        int               `json:"wrong"`
	Declined     int               `json:"declined"`
	Errors       int               `json:"errors"`
	Called       int               `json:"with_tool_call"`
	Unsupported  int               `json:"with_unsupported_figures"`
	PromptTokens int               `json:"median_prompt_tokens"` // 0: not reported
	AnswerTokens int               `json:"median_answer_tokens"`
	Seconds      float64           `json:"median_seconds"`
	Slowest      float64           `json:"slowest_seconds"`
	Error        string            `json:"error,omitzero"` // the first one
	WrongAnswers []wrongAnswer     `json:"wrong_answers"`
}

// wrongAnswer is a wrong answer with its question.
type wrongAnswer struct {
	ID       string         `json:"id,omitzero"`
	Kind     string         `json:"kind"`
	Question string         `json:"question"`
	Expected jsontext.Value `json:"expected_answer,omitzero"`
	Value    jsontext.Value `json:"expected_value,omitzero"`
	Answer   string         `json:"answer"`
}

func (w wrongAnswer) rows(t *output.Table) {
	expected := string(w.Expected)
	if w.Value != nil {
		expected += ", " + string(w.Value)
	}
	t.Row()
	t.Row(cmp.Or(w.ID, "-") + ": wrong answer, kind " + w.Kind)
	t.Row("  question  " + w.Question)
	t.Row("  expected  " + expected)
	for line := range strings.SplitSeq(strings.TrimSuffix(cmp.Or(w.Answer, "(none)"), "\n"), "\n") {
		t.Row("  answer    " + line)
	}
}

// newAnswerReport judges the answers to the first questions.
func newAnswerReport(questions []question, answers []answer) *answerReport {
	r := &answerReport{Questions: len(questions), Asked: len(answers), WrongAnswers: []wrongAnswer{}}
	var promptTokens, answerTokens []int
	var seconds []float64
	for i, a := range answers {
		r.Called += count(a.called)
		r.Unsupported += count(a.unsupported)
		if a.err != nil {
			r.Errors++
			r.Error = cmp.Or(r.Error, output.OneLine(a.err))
			continue
		}
		r.add(questions[i], a.text)
		seconds = append(seconds, a.seconds)
		if a.usage != nil {
			promptTokens, answerTokens = append(promptTokens, a.usage.PromptTokens), append(answerTokens, a.usage.AnswerTokens)
		}
	}
	slices.Sort(promptTokens)
	slices.Sort(answerTokens)
	slices.Sort(seconds)
	r.PromptTokens, r.AnswerTokens = quantile(promptTokens, 0.5), quantile(answerTokens, 0.5)
	r.Seconds, r.Slowest = quantile(seconds, 0.5), quantile(seconds, 1)
	return r
}

func (r *answerReport) add(q question, text string) {
	switch judge(q, text) {
	case right:
		r.Right++
	case declined:
		r.Declined++
	default:
		r.Wrong++
		r.WrongAnswers = append(r.WrongAnswers, wrongAnswer{q.ID, q.Kind, q.Question, q.Expected, q.ExpectedValue, text})
	}
}

// rows adds r as text.
func (r *answerReport) rows(t *output.Table) {
	t.Row(fmt.Sprintf("asked %d of %d questions", r.Asked, r.Questions))
	if backends := output.Pairs(r.Backends); len(backends) > 0 {
		t.Row(strings.Join(backends, ", "))
	}
	t.Row()
	for _, row := range []struct {
		name  string
		value int
	}{
		{"right", r.Right}, {"wrong", r.Wrong}, {"declined", r.Declined}, {"errors", r.Errors},
		{"with a tool call", r.Called}, {"with unsupported figures", r.Unsupported},
	} {
		t.Row(row.name, fmt.Sprint(row.value), fmt.Sprintf("%.0f %%", 100*float64(row.value)/float64(max(1, r.Asked))))
	}
	t.Row()
	t.Row("prompt tokens", fmt.Sprint(r.PromptTokens), "median")
	t.Row("answer tokens", fmt.Sprint(r.AnswerTokens), "median")
	t.Row("seconds", fmt.Sprintf("%.1f", r.Seconds), "median")
	t.Row("", fmt.Sprintf("%.1f", r.Slowest), "slowest")
	if r.Error != "" {
		t.Row()
		t.Row("first error: " + r.Error)
	}
	for _, w := range r.WrongAnswers {
		w.rows(t)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
