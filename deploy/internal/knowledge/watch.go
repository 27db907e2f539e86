package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// watchOptions are the flags of cairn watch.
type watchOptions struct {
	connection
	filter schemas.Watch
	output string
}

func watchCommand() *cobra.Command {
	w := &watchOptions{}
	cmd := &cobra.Command{
		Use:   "watch [KIND]",
		Short: "Print changes of records as they happen",
		Long: `Watch prints a line for each record that is registered, replaced or deleted, from now on
or after the revision --since, until it is interrupted. After a lost connection it
continues where it was: no change is omitted, but of several changes of a record only
the last one may be printed.

The format json prints an object per line. Its field revision is a value of --since.`,
		Example: `  cairn watch
  cairn watch skill --tenant acme --labels team=network
  cairn watch -o name | xargs -n 1 cairn get`,
		ValidArgsFunction: w.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				kinds, err := parseKinds(args[0])
				if err != nil {
					return err
				}
				if len(args) > 1 || len(kinds) > 1 {
					return flags.Usage(errors.New("expected at most one KIND"))
				}
				w.filter.Kind = kinds[0]
			}
			w.filter.TenantID = schemas.Optional(w.tenant)
			for change, err := range w.Client.Watch(cmd.Context(), w.filter) {
				if err != nil {
					return err
				}
				if err := w.print(cmd.OutOrStdout(), change); err != nil {
					return err
				}
			}
			return nil
		},
	}
	w.flags(cmd, "`TENANT` whose records are watched besides the global ones")
	f := cmd.Flags()
	flags.Choice(cmd, &w.filter.Scope, "scope", "", "only records of this `SCOPE`: tenant or global", "",
		schemas.ScopeTenant, schemas.ScopeGlobal)
	f.StringVar(&w.filter.Labels, "labels", "",
		"only records with all of these `LABELS`, such as team=network,tier=gold; deletions of any record")
	f.StringVar(&w.filter.Prefix, "prefix", "", "only records whose id begins with this `TEXT`")
	f.StringVar(&w.filter.After, "since", "", "print the changes after this `REVISION`")
	flags.Output(cmd, &w.output, "table", "json", "name")
	return cmd
}

func (w *watchOptions) print(out io.Writer, c client.Change) error {
	switch w.output {
	case "json":
		return output.JSONLine(out, struct {
			Event string `json:"event"`
			schemas.RecordChange
		}{c.Type, c.RecordChange})
	case "name":
		output.Line(out, name(c.Kind, c.ID))
	default:
		output.Line(out, output.Joined(c.StoredAt, fmt.Sprintf("%-10s", c.Type), name(c.Kind, c.ID),
			cmp.Or(c.TenantID, schemas.ScopeGlobal), c.Version, c.Status,
			c.Actor, c.Message))
	}
	return output.Err(out)
}
