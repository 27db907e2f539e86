package knowledge

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// deleteOptions are the flags of cairn delete.
type deleteOptions struct {
	connection
	ignore bool
}

func deleteCommand() *cobra.Command {
	d := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete " + targetsUse,
		Short: "Delete records",
		Long: `Delete deletes records of the scope that --tenant selects. A deletion is
durable at once and cannot be undone; "cairn export" saves the records before. The exit
code is 3 if a record does not exist.`,
		Example: `  cairn delete tool netbox.vlans.list --tenant acme
  cairn get skill --tenant acme --scope tenant --status retired -o name | xargs cairn delete --tenant acme`,
		Args:              flags.Args(targetsUse, 1, -1),
		ValidArgsFunction: d.complete,
		RunE:              d.run,
	}
	d.flags(cmd, "`TENANT` of the records")
	cmd.Flags().BoolVar(&d.ignore, "ignore-not-found", false, "succeed for records that do not exist")
	return cmd
}

// run deletes the records concurrently and prints the results in order.
func (d *deleteOptions) run(cmd *cobra.Command, args []string) error {
	keys, err := d.keys(cmd, args)
	if err != nil {
		return err
	}
	bar := output.NewProgress(cmd.ErrOrStderr(), "deleting", len(keys))
	errs := make([]error, len(keys))
	records.Concurrently(len(keys), func(i int) {
		errs[i] = deleteExisting(cmd.Context(), d.Client, keys[i])
		bar.Add(1)
	})
	bar.Close()
	for i, key := range keys {
		switch {
		case d.ignore && errors.Is(errs[i], schemas.ErrRecordNotFound):
			errs[i] = nil
		case errs[i] == nil:
			output.Line(cmd.OutOrStdout(), "deleted "+name(key.Kind, key.ID))
		}
	}
	return report(cmd.ErrOrStderr(), errs)
}

// deleteExisting deletes a record, or returns schemas.ErrRecordNotFound.
func deleteExisting(ctx context.Context, c *client.Client, key schemas.RecordKey) error {
	err := c.Delete(ctx, key, schemas.Precondition{IfMatch: "*"})
	if errors.Is(err, schemas.ErrPreconditionFailed) {
		return schemas.ErrRecordNotFound.Because(fmt.Sprintf("no %s %q %s", key.Kind, key.ID,
			scopeOf(schemas.ValueOr(key.TenantID, ""))))
	}
	return err
}
