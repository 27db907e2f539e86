// Package ask implements the commands about analyses: ask a question about an estate,
// compute figures of it, and follow or cancel a run.
package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/estatefile"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// askOptions are the flags of cairn ask.
type askOptions struct {
	connect.HTTP
	estates    []string
	mode       string
	provenance bool
	strict     bool
	detach     bool
	output     string
}

// Command returns the command cairn ask.
func Command() *cobra.Command {
	a := &askOptions{}
	cmd := &cobra.Command{
		Use:   "ask --estate FILE|URL [QUESTION]",
		Short: "Ask questions about an estate",
		Long: `Ask sends an estate (JSON with arrays of hosts, volumes, networks, …) and a question,
and streams the answer to stdout. Tool calls, which compute its figures, are printed to
stderr. Ctrl-C cancels the analysis on the server too; --detach prints the id of the run
instead of the answer, for "cairn runs".

An estate is JSON or JSON Lines: a file, stdin (-), or an http or https URL, which is read
without the API key. Of several estates, the arrays with the same name are joined.

Without a QUESTION on a terminal, ask is a conversation: each question is asked together
with the questions and answers before it. Ctrl-C cancels an answer, Ctrl-D ends the
conversation.

The figures of the answer are checked when it is complete: those that no tool result
supports are listed after it. With --strict, the exit code is 1 if there are any.`,
		Example: `  cairn ask --estate deploy/examples/estate.json "how many hosts are there per site?"
  cairn ask --estate deploy/examples/estate.json                 # a conversation
  cairn ask --estate oslo.json --estate https://cmdb.example.com/bergen.json --mode broad "what is in these estates?"
  inventory | cairn ask --estate - "which hosts run an old kernel?"
  cairn ask --estate estate.json --strict "how many volumes?"    # exit code 1 for unsupported figures
  cairn ask --estate estate.json -o json "how many volumes?"     # one event per line`,
		Args: flags.Args("one QUESTION (quote several words)", 0, 1),
		RunE: a.run,
	}
	a.Flags(cmd)
	f := cmd.Flags()
	estatefile.Flag(f, &a.estates)
	flags.Choice(cmd, &a.mode, "mode", "", "analysis `MODE`: standard, or broad for facts only", schemas.ModeStandard,
		schemas.ModeBroad)
	f.BoolVar(&a.provenance, "provenance", true, "check the figures of the answer against the tool results")
	f.BoolVar(&a.strict, "strict", false, "exit with code 1 if no tool result supports a figure of the answer")
	f.BoolVar(&a.detach, "detach", false, "print the id of the run and let it continue")
	flags.Output(cmd, &a.output, flags.TextFormat, "json")
	return cmd
}

func (a *askOptions) run(cmd *cobra.Command, args []string) error {
	if err := a.validate(cmd, args); err != nil {
		return err
	}
	estate, err := estatefile.ReadAll(cmd.Context(), a.estates, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return a.converse(cmd, estate, newTerminal())
	}
	question := a.question(args[0], estate)
	if a.detach {
		return start(cmd.Context(), a.Client, question, cmd.OutOrStdout())
	}
	run, err := a.Client.Analyze(cmd.Context(), question)
	if err != nil {
		return err
	}
	_, err = a.print(run, cmd.OutOrStdout(), cmd.ErrOrStderr())
	return err
}

func (a *askOptions) validate(cmd *cobra.Command, args []string) error {
	interactive := output.IsTerminal(cmd.InOrStdin()) && output.IsTerminal(cmd.OutOrStdout())
	switch {
	case len(a.estates) == 0:
		return flags.UsageError(cmd, estatefile.ErrMissing)
	case a.strict && !a.provenance:
		return flags.UsageError(cmd, errors.New("--strict requires --provenance"))
	case len(args) == 0 && !interactive:
		return flags.UsageError(cmd, errors.New("expected one QUESTION; without one, stdin and stdout must be a terminal"))
	case len(args) == 0 && (a.output == "json" || a.detach):
		return flags.UsageError(cmd, errors.New("--output json and --detach require a QUESTION"))
	}
	return nil
}

// question returns the request for a question without a history.
func (a *askOptions) question(text, estate string) schemas.Analysis {
	q := schemas.Analysis{Query: text, Context: estate, Target: schemas.TargetH, Mode: a.mode}
	if a.provenance {
		q.Include = []string{schemas.EventProvenance}
	}
	return q
}

// answer is the answer of a run.
type answer struct {
	text        string
	suggestions []string // questions to ask in place of a declined one
}

// print prints the events of a run and returns the answer: as JSON lines, or as text on out
// and tool calls on errOut. It returns an error for an answer that --strict does not accept.
func (a *askOptions) print(run *client.Run, out, errOut io.Writer) (answer, error) {
	r := &reader{out: out, errOut: errOut, verdict: verdict{strict: a.strict, reported: a.output == "json"},
		waiting: output.NewProgress(errOut, "waiting for the answer", -1)}
	defer func() { r.waiting.Close() }() // a tool call replaces it
	for e, err := range run.Events() {
		r.waiting.Close()
		if err == nil {
			err = r.verdict.handle(e)
		}
		switch {
		case err != nil:
		case a.output == "json":
			err = printJSON(out, e)
		default:
			err = r.handle(e)
		}
		if err != nil {
			r.endLine()
			return answer{}, err
		}
	}
	return answer{r.text.String(), r.suggestions}, r.verdict.err()
}

// converse lists the arrays of the estate and asks the questions that the user types, until the end of the input. An
// interrupt cancels the current answer only.
func (a *askOptions) converse(cmd *cobra.Command, estate string, input lines) error {
	errOut := cmd.ErrOrStderr()
	var history conversation
	var suggestions []string // of the previous answer
	output.Dimmed(errOut, "Ask about the estate. Ctrl-C cancels an answer, Ctrl-D ends the conversation.")
	if err := printArrays(cmd.Context(), a.Client, estate, errOut); err != nil {
		return err
	}
	for {
		text, err := input.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text = strings.TrimSpace(text)
		switch text {
		case "":
			continue
		case "exit", "quit", "/exit", "/quit":
			return nil
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(suggestions) {
			text = suggestions[n-1]
			output.Dimmed(errOut, text)
		}
		question := a.question(text, estate)
		question.Include = append(question.Include, schemas.EventSuggestions)
		question.Prompt = history.prompt()
		answer, err := a.answer(cmd, question)
		suggestions = answer.suggestions
		switch {
		case errors.Is(err, context.Canceled):
			output.Dimmed(errOut, "canceled")
		case err != nil:
			output.Warning(errOut, output.OneLine(err))
		default:
			history.add(text, answer.text)
			for i, text := range suggestions {
				output.Dimmed(errOut, fmt.Sprintf("  %d  %s", i+1, text)) // the number selects it
			}
		}
	}
}

// answer runs one question. Its context is detached from that of the command, so that Ctrl-C
// cancels this answer only.
func (a *askOptions) answer(cmd *cobra.Command, q schemas.Analysis) (answer, error) {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(cmd.Context()), os.Interrupt)
	defer stop()
	run, err := a.Client.Analyze(ctx, q)
	if err != nil {
		return answer{}, err
	}
	return a.print(run, cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// start starts an analysis that continues without this client, and prints its run.
func start(ctx context.Context, c *client.Client, q schemas.Analysis, out io.Writer) error {
	q.OnDisconnect = schemas.OnDisconnectContinue
	run, err := c.Analyze(ctx, q)
	if err != nil {
		return err
	}
	if run.ID == "" {
		return errors.Join(errors.New("the run cannot be followed: the server stores no events"), run.Close())
	}
	_, err = fmt.Fprintln(out, run.ID)
	return errors.Join(err, run.Close())
}

func printJSON(out io.Writer, e client.Event) error {
	return output.JSONLine(out, struct {
		Event string `json:"event"`
		Data  any    `json:"data"`
	}{e.Type, e.Data})
}
