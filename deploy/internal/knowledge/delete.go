package knowledge

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// deleteOptions are the flags of cairn delete.
type deleteOptions struct {
	connection
	ignore bool
	force  bool
}

func deleteCommand() *cobra.Command {
	d := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete " + targetsUse,
		Short: "Delete records",
		Long: `Delete deletes records of the scope that --tenant selects. A deletion is
durable at once and cannot be undone; "cairn export" saves the records before. The exit
code is 3 if a record does not exist.

If other records link to a record, delete asks, and without a terminal it deletes nothing
unless --force is set; the exit code is 4. Links between the deleted records do not matter.`,
		Example: `  cairn delete tool netbox.vlans.list --tenant acme
  cairn get skill --tenant acme --scope tenant --status retired -o name | xargs cairn delete --tenant acme`,
		Args:              flags.Args(targetsUse, 1, -1),
		ValidArgsFunction: d.complete,
		RunE:              d.run,
	}
	d.flags(cmd, "`TENANT` of the records")
	cmd.Flags().BoolVar(&d.force, "force", false, "also delete records to which others link")
	connect.MessageFlag(cmd)
	cmd.Flags().BoolVar(&d.ignore, "ignore-not-found", false, "succeed for records that do not exist")
	return cmd
}

// run deletes the records concurrently and prints the results in order.
func (d *deleteOptions) run(cmd *cobra.Command, args []string) error {
	keys, err := d.keys(cmd, args)
	if err != nil {
		return err
	}
	batch := &deletion{client: d.Client, force: d.force, keys: keys}
	if err := batch.permit(cmd); err != nil {
		return err
	}
	bar := output.NewProgress(cmd.ErrOrStderr(), "deleting", len(keys))
	errs, aliases := make([]error, len(keys)), make([][]string, len(keys))
	records.Concurrently(len(keys), func(i int) {
		aliases[i], errs[i] = batch.delete(cmd.Context(), i)
		bar.Add(1)
	})
	bar.Close()
	for i, key := range keys {
		switch {
		case d.ignore && errors.Is(errs[i], schemas.ErrRecordNotFound):
			errs[i] = nil
		case errs[i] == nil:
			line := "deleted " + name(key.Kind, key.ID)
			if len(aliases[i]) > 0 {
				line += " and its aliases " + strings.Join(aliases[i], ", ")
			}
			output.Line(cmd.OutOrStdout(), line)
		}
	}
	return report(cmd.ErrOrStderr(), errs)
}
