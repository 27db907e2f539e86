package connect

import (
	"fmt"

	"github.com/spf13/cobra"

	"cairn/bus"
	"cairn/deploy/internal/flags"
	"cairn/edge/client"
	"cairn/schemas"
)

// MessageFlag defines --message of a command that makes changes, whose RunE is set. The command runs with a context for
// changes with the message, by an edge or through NATS.
func MessageFlag(cmd *cobra.Command) {
	var message string
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := schemas.CheckMessage(message); err != nil {
			return flags.Usage(fmt.Errorf("--message: %w", err))
		}
		origin := schemas.Origin{Author: schemas.Author{Message: message}, Route: cmd.CommandPath()}
		cmd.SetContext(bus.WithOrigin(client.WithMessage(cmd.Context(), message), origin))
		return run(cmd, args)
	}
	cmd.Flags().StringVarP(&message, "message", "m", "", "`TEXT` of one line for the history and the audit log: why")
}
