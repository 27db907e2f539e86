package ask

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// RunsCommand returns the command cairn runs.
func RunsCommand() *cobra.Command {
	cmd := flags.Group(&cobra.Command{
		Use:   "runs",
		Short: "List, follow and cancel analyses",
		Long: `Runs lists, follows and cancels analyses by the id of their run, which "cairn ask --detach"
prints and the response header Cairn-Run has. A server keeps the events of a run for two
minutes, and its question, duration and tokens for a day.`,
	})
	cmd.AddCommand(listCommand(), followCommand(), cancelCommand())
	return cmd
}

// list prints runs.
type list struct {
	connect.HTTP
	schemas.RunQuery
	limit  int
	output string
}

func listCommand() *cobra.Command {
	l := &list{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the runs in progress and of the last day",
		Long: `List prints the runs of the key's tenants, the latest first, with their questions. Without
authentication, or with a key for all tenants, it prints all runs, but not the questions of
tenants. A run can be followed until two minutes after its end.`,
		Example:           "  cairn runs list --since 1h\n  cairn runs list --state running -o name | xargs cairn runs cancel",
		Args:              flags.Args("no arguments", 0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              l.run,
	}
	l.HTTP.Flags(cmd)
	flags.Choice(cmd, &l.State, "state", "", "only runs in this `STATE`: running, done, failed or canceled", "",
		schemas.RunRunning, schemas.RunDone, schemas.RunFailed, schemas.RunCanceled)
	cmd.Flags().StringVar(&l.User, "user", "", "only ended runs of the credential with this `ID`")
	cmd.Flags().StringVar(&l.Model, "model", "", "only ended runs with this `MODEL`")
	cmd.Flags().StringVar(&l.Since, "since", "", "only runs that started at this `TIME` or later: "+flags.PastTimeUsage)
	cmd.Flags().IntVar(&l.limit, "limit", 100, "maximum number of runs")
	flags.Output(cmd, &l.output, "table", "json", "yaml", "name")
	return cmd
}

func (l *list) run(cmd *cobra.Command, _ []string) error {
	if err := flags.AtLeast("limit", l.limit, 1); err != nil {
		return err
	}
	var err error
	if l.Since, err = flags.PastTime("since", l.Since); err != nil {
		return err
	}
	errOut := cmd.ErrOrStderr()
	runs, truncated, err := readRuns(cmd.Context(), l.Client, l.RunQuery, l.limit)
	if err != nil {
		return err
	}
	if truncated {
		output.Line(errOut, fmt.Sprintf("the latest %d runs; raise --limit for more", l.limit))
	}
	if l.output == "table" && len(runs) == 0 {
		output.Line(errOut, "no runs found")
		return nil
	}
	names := make([]string, len(runs))
	for i, r := range runs {
		names[i] = r.Run
	}
	return output.Result{Value: runs, Names: names, Table: func(t *output.Table) {
		t.Row("RUN", "STATE", "STARTED", "TOOK", "TOKENS", "USER", "QUESTION")
		for _, r := range runs {
			took, tokens := "", ""
			if r.Usage != nil {
				took = (time.Duration(r.DurationMS) * time.Millisecond).String()
				tokens = strconv.Itoa(r.Usage.PromptTokens + r.Usage.AnswerTokens)
			}
			t.Row(r.Run, r.State, seconds(r.StartedAt), took, tokens, r.User, r.Query)
		}
	}}.Print(cmd.OutOrStdout(), l.output)
}

// seconds truncates an RFC 3339 time to seconds.
func seconds(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.Format(time.RFC3339)
}

// readRuns returns at most limit of the selected runs, the latest first, and whether there are more.
func readRuns(ctx context.Context, c *client.Client, q schemas.RunQuery,
	limit int) (runs []schemas.RunSummary, truncated bool, err error) {
	q.Limit = new(min(limit+1, 1000))
	return connect.First(c.Runs(ctx, q), limit)
}

// followable is the time after its start for which a run can be followed: its timeout, and two minutes.
const followable = 4 * time.Minute

// completeRuns completes the ids of runs in the state; empty: any state. It completes nothing if
// the server does not respond within a second.
func completeRuns(state string, limit int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) >= limit {
			return nil, none
		}
		var ids []string
		connect.Complete(cmd, func(ctx context.Context, c *client.Client) {
			q := schemas.RunQuery{State: state, Since: time.Now().Add(-followable).Format(time.RFC3339)}
			runs, _, err := readRuns(ctx, c, q, flags.MaxCompletions)
			if err != nil {
				return
			}
			for _, r := range runs {
				if strings.HasPrefix(r.Run, begin) && !slices.Contains(args, r.Run) {
					ids = append(ids, cobra.CompletionWithDesc(r.Run, r.State+", started "+seconds(r.StartedAt)))
				}
			}
		})
		return ids, none | cobra.ShellCompDirectiveKeepOrder
	}
}

func followCommand() *cobra.Command {
	a := &askOptions{provenance: true} // prints the provenance of the run, if it has any
	after := ""
	cmd := &cobra.Command{
		Use:   "follow RUN",
		Short: "Print the events of a run from its beginning to its end",
		Long: `Follow prints the answer of a run and its tool calls as "cairn ask" does, from the first
event to the last. Ctrl-C does not cancel the run. The exit code is 3 for an unknown run.`,
		Example:           "  cairn runs follow $(cairn ask --detach --estate estate.json \"how many hosts?\")",
		Args:              flags.Args("one RUN", 1, 1),
		ValidArgsFunction: completeRuns("", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := a.Client.Follow(cmd.Context(), args[0], after)
			if errors.Is(err, client.ErrIncomplete) {
				output.Line(cmd.ErrOrStderr(), "no further events")
				return nil
			}
			if err != nil {
				return err
			}
			_, err = a.print(run, cmd.OutOrStdout(), cmd.ErrOrStderr())
			return err
		},
	}
	a.Flags(cmd)
	cmd.Flags().StringVar(&after, "after", "", "print only events after the one with this `ID`")
	flags.Output(cmd, &a.output, flags.TextFormat, "json")
	return cmd
}

func cancelCommand() *cobra.Command {
	h := &connect.HTTP{}
	cmd := &cobra.Command{
		Use:               "cancel RUN…",
		Short:             "Cancel runs; succeeds for those that have ended",
		Example:           "  cairn runs cancel V1StGXR8Z5jdHi6BmyT0aB",
		Args:              flags.Args("ids of runs", 1, -1),
		ValidArgsFunction: completeRuns(schemas.RunRunning, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, run := range args {
				if err := h.Client.CancelRun(cmd.Context(), run); err != nil {
					return err
				}
				output.Line(cmd.OutOrStdout(), "canceled "+run)
			}
			return nil
		},
	}
	h.Flags(cmd)
	return cmd
}
