// Command cairn is the server and the client of Cairn: the services and the HTTP
// edge, in one process or in several, and commands that register, resolve and ask.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cairn/bus"
)

func main() {
	limitMemory(os.Stderr)
	signalled, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, end := context.WithCancel(context.Background())
	context.AfterFunc(signalled, func() {
		restore() // before anyone hears of the first signal: a second one kills
		end()
	})
	os.Exit(run(ctx, newRoot(os.Getenv)))
}

// The help lists the commands in the order of newRoot: what serves comes first.
func init() { cobra.EnableCommandSorting = false }

// exitInterrupted is what shells say of a program that an interrupt ended.
const exitInterrupted = 130

// exitCutOff is the exit code when work in flight was cut off at the end of the
// drain, as that of timeout(1).
const exitCutOff = 124

// run executes root and answers with the exit code. What went wrong is one line.
func run(ctx context.Context, root *cobra.Command) int {
	root.SetOut(screenOn(root.OutOrStdout()))
	root.SetErr(screenOn(root.ErrOrStderr()))
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case !errors.Is(err, errSaid):
		_, _ = fmt.Fprintln(root.ErrOrStderr(), "cairn:", oneLine(err)) // there is nobody else to tell
	}
	if errors.Is(err, bus.ErrCutOff) {
		return exitCutOff
	}
	return 1
}

// oneLine is the text of err without line breaks.
func oneLine(err error) string {
	if text := err.Error(); !strings.Contains(text, "\n") {
		return text
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// errSaid ends a command that has itself said what went wrong.
var errSaid = errors.New("said already")

// newRoot is the command line; settings that are not given as flags are asked
// of getenv.
func newRoot(getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:   "cairn",
		Short: "Knowledge and question answering for agents",
		Long: `Cairn stores the records that agents need at runtime (skills, agents, tools,
context builders, guardrails, templates), searches them, and answers questions
about infrastructure estates.

Every flag can also be set by an environment variable: --http by CAIRN_HTTP,
--log-level by CAIRN_LOG_LEVEL. Flags take precedence over variables. Empty
variables are ignored.`,
		Example: `  cairn up                                             # run everything in this process
  cairn register deploy/examples/knowledge             # register records
  cairn resolve "which volumes are nearly full?"       # search for skills
  cairn resolve storage.volume_capacity                # print the package of a skill
  cairn ask --estate deploy/examples/estate.json "how many hosts per site?"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnv(cmd.Flags(), getenv); err != nil {
				return err
			}
			return fromFiles(cmd.Flags())
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misused(cmd, err) })
	root.AddCommand(upCommand(), edgeCommand(), workerCommand(), setupCommand(),
		registerCommand(), resolveCommand(), askCommand(), evalCommand(), benchCommand(), statusCommand(), reindexCommand(), keyCommand(), backupCommand(), restoreCommand(), versionCommand())
	for cmd := range below(root) {
		nameTwins(cmd.Flags())
	}
	return root
}

// below are the commands of a command, each before those of its own.
func below(cmd *cobra.Command) iter.Seq[*cobra.Command] {
	return func(yield func(*cobra.Command) bool) {
		for _, sub := range cmd.Commands() {
			if !yield(sub) {
				return
			}
			for deeper := range below(sub) {
				if !yield(deeper) {
					return
				}
			}
		}
	}
}

// misused is err for a command that was not called as it can be.
func misused(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())
}

// wants checks the number of arguments; most below 0 is any number.
func wants(what string, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return misused(cmd, fmt.Errorf("want %s, got %d arguments %q", what, len(args), args))
	}
}
