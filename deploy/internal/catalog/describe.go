package catalog

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// describe prints records with their scope, revision and links.
type describe struct{ connection }

func describeCommand() *cobra.Command {
	d := &describe{}
	cmd := &cobra.Command{
		Use:   "describe " + targetsUse,
		Short: "Print records with their revision, and the package of a skill",
		Long: `Describe prints records with their scope, revision and entity tag, their fields, and for
a skill its package: the records that are linked to it, and why.`,
		Example: `  cairn describe skill storage.volume_capacity --tenant acme
  cairn describe tool/netbox.vlans.list`,
		Args:              flags.Args(targetsUse, 1, -1),
		ValidArgsFunction: d.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := d.keys(cmd, args)
			if err != nil {
				return err
			}
			c, err := d.Client()
			if err != nil {
				return err
			}
			errs := make([]error, len(keys))
			for i, key := range keys {
				errs[i] = d.one(cmd.Context(), c, key, i > 0, cmd.OutOrStdout())
			}
			if len(errs) == 1 {
				return errs[0]
			}
			return report(cmd.ErrOrStderr(), errs)
		},
	}
	d.flags(cmd, "`TENANT` whose records take precedence; empty: global scope")
	return cmd
}

// one prints a record, after an empty line if it is not the first.
func (d *describe) one(ctx context.Context, c *client.Client, key schemas.RecordKey, next bool, out io.Writer) error {
	r, err := c.Get(ctx, key)
	if err != nil {
		return err
	}
	t := output.NewTable(out)
	if next {
		t.Row("")
	}
	s := records.Summaries(r.JSON)[0]
	t.Row("Name:", name(r.Kind, r.ID))
	t.Row("Scope:", s.Scope())
	t.Row("Status:", s.StatusOr())
	t.Row("Revision:", fmt.Sprint(r.Token.Revision))
	t.Row("ETag:", r.ETag)
	u, err := c.Usage(ctx, key)
	if err != nil {
		return err
	}
	t.Row("Resolved:", times(u.Resolved))
	t.Row("Found:", times(u.Found))
	t.Row("Record:")
	if err := t.Write(); err != nil {
		return err
	}
	text, err := records.YAML(r.JSON)
	if err != nil {
		return err
	}
	if err := output.Indented(out, "  ", string(text)); err != nil || r.Kind != schemas.KindSkill {
		return err
	}
	o := schemas.QueryOptions{Explain: true, TenantID: key.TenantID}
	p, err := c.Package(ctx, r.ID, o)
	if err != nil {
		return err
	}
	if err := output.Line(out, "Package:"); err != nil {
		return err
	}
	return records.WriteParts(out, p)
}

// times returns the number of uses as text.
func times(u schemas.Uses) string {
	switch u.Count {
	case 0:
		return "never"
	case 1:
		return "once, at " + u.LastAt
	default:
		return fmt.Sprintf("%d times, last at %s", u.Count, u.LastAt)
	}
}
