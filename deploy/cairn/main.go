// Command cairn is the server and the client of Cairn. It runs the services and the HTTP
// edge, in one process or in several, and has commands to register, resolve and analyze.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cairn/bus"
	"cairn/deploy/internal/ask"
	"cairn/deploy/internal/bench"
	"cairn/deploy/internal/eval"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/operations"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/register"
	"cairn/deploy/internal/resolve"
	"cairn/deploy/internal/server"
)

func main() {
	server.LimitMemory(os.Stderr)
	signalled, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, end := context.WithCancel(context.Background())
	context.AfterFunc(signalled, func() {
		restore() // a second signal terminates the process
		end()
	})
	os.Exit(run(ctx, newRoot(os.Getenv)))
}

// The help lists the commands in the order of newRoot.
func init() { cobra.EnableCommandSorting = false }

// exitInterrupted is the conventional exit code after SIGINT.
const exitInterrupted = 130

// run executes root and returns the exit code. It prints errors on one line.
func run(ctx context.Context, root *cobra.Command) int {
	root.SetOut(output.Screen(root.OutOrStdout()))
	root.SetErr(output.Screen(root.ErrOrStderr()))
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case !errors.Is(err, output.ErrReported):
		_, _ = fmt.Fprintln(root.ErrOrStderr(), "cairn:", output.OneLine(err)) // a failed write to stderr cannot be reported
	}
	if errors.Is(err, bus.ErrCutOff) {
		return server.ExitCutOff
	}
	return 1
}

// newRoot returns the root command. Flags that are not set take their values from
// getenv.
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
			return flags.SetUnset(cmd.Flags(), getenv)
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flags.UsageError(cmd, err) })
	root.AddCommand(server.Commands()...)
	root.AddCommand(register.Command(), resolve.Command(), ask.Command(), eval.Command(), bench.Command())
	root.AddCommand(operations.Commands()...)
	for cmd := range below(root) {
		flags.Document(cmd.Flags())
	}
	return root
}

// below returns all subcommands of cmd, parents first.
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
