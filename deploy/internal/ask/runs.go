package ask

import (
	"errors"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
)

// RunsCommand returns the command cairn runs.
func RunsCommand() *cobra.Command {
	cmd := flags.Group(&cobra.Command{
		Use:   "runs",
		Short: "Follow and cancel analyses",
		Long: `Runs follows and cancels analyses by the id of their run, which "cairn ask --detach"
prints and the response header Cairn-Run has. A server keeps the events of a run for two
minutes.`,
	})
	cmd.AddCommand(followCommand(), cancelCommand())
	return cmd
}

func followCommand() *cobra.Command {
	a := &ask{provenance: true} // of the run, which may have it
	after := ""
	cmd := &cobra.Command{
		Use:   "follow RUN",
		Short: "Print the events of a run from its beginning to its end",
		Long: `Follow prints the answer of a run and its tool calls as "cairn ask" does, from the first
event to the last. Ctrl-C does not cancel the run. The exit code is 3 for an unknown run.`,
		Example:           "  cairn runs follow $(cairn ask --detach --estate estate.json \"how many hosts?\")",
		Args:              flags.Args("one RUN", 1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			run, err := c.Follow(cmd.Context(), args[0], after)
			if errors.Is(err, client.ErrIncomplete) {
				return output.Line(cmd.ErrOrStderr(), "no further events")
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
	flags.JSON(cmd, &a.json)
	return cmd
}

func cancelCommand() *cobra.Command {
	h := &connect.HTTP{}
	cmd := &cobra.Command{
		Use:               "cancel RUN…",
		Short:             "Cancel runs; succeeds for those that have ended",
		Example:           "  cairn runs cancel V1StGXR8Z5jdHi6BmyT0aB",
		Args:              flags.Args("ids of runs", 1, -1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := h.Client()
			if err != nil {
				return err
			}
			for _, run := range args {
				if err := c.CancelRun(cmd.Context(), run); err != nil {
					return err
				}
				if err := output.Line(cmd.OutOrStdout(), "canceled "+run); err != nil {
					return err
				}
			}
			return nil
		},
	}
	h.Flags(cmd)
	return cmd
}
