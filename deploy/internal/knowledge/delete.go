package knowledge

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	errs, aliases := make([]error, len(keys)), make([][]string, len(keys))
	records.Concurrently(len(keys), func(i int) {
		aliases[i], errs[i] = deleteExisting(cmd.Context(), d.Client, keys[i])
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

// deleteExisting deletes a record and returns the names of its aliases, or schemas.ErrRecordNotFound.
func deleteExisting(ctx context.Context, c *client.Client, key schemas.RecordKey) (aliases []string, err error) {
	aliases, err = c.DeleteWithAliases(ctx, key, schemas.Precondition{IfMatch: "*"})
	if errors.Is(err, schemas.ErrPreconditionFailed) {
		return nil, schemas.ErrRecordNotFound.Because(fmt.Sprintf("no %s %q %s", key.Kind, key.ID,
			scopeOf(schemas.ValueOr(key.TenantID, ""))))
	}
	return aliases, err
}
