// Command cairn is the server and the client of Cairn. It runs the services and the HTTP
// edge, in one process or in several, and has commands to register, resolve and analyze.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/ask"
	"cairn/deploy/internal/bench"
	"cairn/deploy/internal/contexts"
	"cairn/deploy/internal/doctor"
	"cairn/deploy/internal/eval"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/knowledge"
	"cairn/deploy/internal/operations"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/query"
	"cairn/deploy/internal/server"
	"cairn/deploy/internal/stdio"
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

// run executes root and returns the exit code. It prints errors on one line.
func run(ctx context.Context, root *cobra.Command) int {
	root.SetOut(output.Screen(root.OutOrStdout()))
	root.SetErr(output.Screen(root.ErrOrStderr()))
	err := cmp.Or(root.ExecuteContext(ctx), output.Err(root.OutOrStdout()))
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		for _, failure := range afterCancellation(err) {
			printError(root, failure)
		}
		return exitInterrupted
	case !errors.Is(err, output.ErrReported):
		printError(root, err)
	}
	return exitCode(err)
}

func printError(root *cobra.Command, err error) {
	_, _ = fmt.Fprintln(root.ErrOrStderr(), "cairn:", message(err)) // a failed write to stderr cannot be reported
}

// newRoot returns the root command. Flags that are not set take their values from
// getenv.
func newRoot(getenv func(string) string) *cobra.Command {
	root := flags.Group(&cobra.Command{
		Use:   "cairn",
		Short: "Knowledge and question answering for agents",
		Long: `Cairn stores the records that agents need at runtime (skills, agents, tools,
context builders, guardrails, templates), searches them, and answers questions
about infrastructure estates.

Every flag can also be set by an environment variable: --http by CAIRN_HTTP,
--log-level by CAIRN_LOG_LEVEL. Flags take precedence over variables, and these over
the selected context (cairn context). Empty variables are ignored.

The exit code is 0 on success, 2 for wrong flags, arguments or input, 3 if something is
not found, 4 if a request is rejected, 5 if a server is unavailable, and otherwise 1.`,
		Example: `  cairn up                                             # run everything in this process
  cairn apply deploy/examples/knowledge                # register records
  cairn search "which volumes are nearly full?"        # search for skills
  cairn get skills                                     # list records
  cairn describe skill storage.volume_capacity         # print a record and its package
  cairn ask --estate deploy/examples/estate.json "how many hosts per site?"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       operations.Build(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.SetUnset(cmd, getenv); err != nil {
				return err
			}
			return flags.Usage(cmd.ValidateFlagGroups())
		},
	})
	root.SetVersionTemplate("{{.DisplayName}} {{.Version}}\n")
	root.SetFlagErrorFunc(flags.FlagError)
	root.AddCommand(server.Commands()...)
	root.AddCommand(knowledge.Commands()...)
	root.AddCommand(query.Commands()...)
	root.AddCommand(ask.Command(), ask.ComputeCommand(), ask.RunsCommand(),
		query.TagsCommand(), stdio.Command(), contexts.Command(getenv), eval.Command(), bench.Command(), doctor.Command())
	root.AddCommand(operations.Commands()...)
	values := completions(getenv)
	for _, cmd := range below(root) {
		cmd.SuggestFor = synonyms[cmd.CommandPath()]
		flags.Document(cmd)
		complete(cmd, values)
	}
	return root
}

// below returns all subcommands of cmd, parents first.
func below(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		list = append(append(list, sub), below(sub)...)
	}
	return list
}
