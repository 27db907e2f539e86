package knowledge

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// describeOptions are the flags of cairn describe.
type describeOptions struct {
	connection
	output string
}

func describeCommand() *cobra.Command {
	d := &describeOptions{}
	cmd := &cobra.Command{
		Use:   "describe " + targetsUse,
		Short: "Print records with their revision, referrers, and the package of a skill",
		Long: `Describe prints records with their scope, revision, entity tag and aliases, their fields, the
records that link to them (the first 100), and for a skill its package: the records that are
linked to it, and why.`,
		Example: `  cairn describe skill storage.volume_capacity --tenant acme
  cairn describe tool/netbox.vlans.list -o json | jq .usage`,
		Args:              flags.Args(targetsUse, 1, -1),
		ValidArgsFunction: d.complete,
		RunE:              d.run,
	}
	d.flags(cmd, "`TENANT` whose records take precedence")
	flags.Output(cmd, &d.output, flags.TextFormat, "json", "yaml", "name")
	return cmd
}

func (d *describeOptions) run(cmd *cobra.Command, args []string) error {
	keys, err := d.keys(cmd, args)
	if err != nil {
		return err
	}
	var list []description
	errs := make([]error, len(keys))
	for i, key := range keys {
		var record description
		if record, errs[i] = describeRecord(cmd.Context(), d.Client, key); errs[i] == nil {
			list = append(list, record)
		}
	}
	if len(errs) == 1 && errs[0] != nil {
		return errs[0]
	}
	if err := d.print(cmd.OutOrStdout(), list, len(keys) == 1); err != nil {
		return err
	}
	return report(cmd.ErrOrStderr(), errs)
}

// description is the output of describe for one record.
type description struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Scope    string `json:"scope" doc:"the tenant, or global"`
	Status   string `json:"status"`
	Revision uint64 `json:"revision"`
	ETag     string `json:"etag"`
	// Change is the registration of the record, unless an alias names a revision that has left the history.
	Change  schemas.RecordRevision `json:"change,omitzero"`
	Usage   schemas.RecordUsage    `json:"usage"`
	Aliases []schemas.Alias        `json:"aliases"`
	Record  jsontext.Value         `json:"record"`
	// Referrers are at most maxReferrers.
	Referrers []schemas.Referrer    `json:"referrers" doc:"records that link to it, at most 100"`
	Package   *schemas.SkillPackage `json:"package,omitzero" doc:"of a skill"`
}

func describeRecord(ctx context.Context, c *client.Client, key schemas.RecordKey) (description, error) {
	r, err := c.Get(ctx, key)
	if err != nil {
		return description{}, err
	}
	s := records.Summaries(r.JSON)[0]
	d := description{Kind: r.Kind, ID: r.ID, Scope: s.Scope(), Status: s.StatusOr(), Revision: r.Token.Revision,
		ETag: r.ETag, Record: r.JSON}
	named := key.ID
	key.ID = r.ID // without @ and a version or alias
	if d.Change, err = changeAt(ctx, c, key, r.Token.String()); err != nil {
		return d, err
	}
	if d.Usage, err = c.Usage(ctx, key); err != nil {
		return d, err
	}
	if d.Aliases, err = c.Aliases(ctx, key); err != nil {
		return d, err
	}
	q := schemas.ReferrerQuery{Kind: key.Kind, ID: key.ID, TenantID: key.TenantID, Limit: new(maxReferrers)}
	d.Referrers, _, err = connect.First(c.Referrers(ctx, q), maxReferrers)
	if err != nil || r.Kind != schemas.KindSkill {
		return d, err
	}
	p, err := c.Package(ctx, named, schemas.QueryOptions{Explain: true, TenantID: key.TenantID})
	d.Package = &p
	return d, err
}

// maxReferrers bounds the referrers of a description.
const maxReferrers = 100

// print prints the descriptions: a single one as an object, others as a list.
func (d *describeOptions) print(out io.Writer, list []description, single bool) error {
	if d.output != flags.TextFormat {
		r := output.Result{Value: list}
		if single {
			r.Value = list[0]
		}
		for _, record := range list {
			r.Names = append(r.Names, name(record.Kind, record.ID))
		}
		return r.Print(out, d.output)
	}
	for i, record := range list {
		if i > 0 {
			output.Line(out, "")
		}
		if err := record.print(out); err != nil {
			return err
		}
	}
	return nil
}

func (d description) print(out io.Writer) error {
	t := output.NewTable(out)
	t.Row("Name:", name(d.Kind, d.ID))
	t.Row("Scope:", d.Scope)
	t.Row("Status:", d.Status)
	t.Row("Revision:", fmt.Sprint(d.Revision))
	if d.Change.Revision != "" {
		t.Row("Changed:", output.Joined(d.Change.StoredAt, d.Change.Actor, d.Change.Message))
	}
	t.Row("ETag:", d.ETag)
	t.Row("Resolved:", times(d.Usage.Resolved))
	t.Row("Found:", times(d.Usage.Found))
	for _, a := range d.Aliases {
		t.Row("Alias:", a.Name, "revision "+a.Revision, a.Version)
	}
	t.Row("Record:")
	t.Write()
	text, err := output.YAML(d.Record)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		_, _ = io.WriteString(out, "  "+line) // output.Err returns the error
	}
	if len(d.Referrers) > 0 {
		output.Line(out, "Referrers:")
	}
	t = output.NewTable(out)
	for _, r := range d.Referrers {
		t.Row("  "+name(r.Kind, r.ID), cmp.Or(r.TenantID, schemas.ScopeGlobal), r.Field, r.Status)
	}
	t.Write()
	if d.Package != nil {
		output.Line(out, "Package:")
		records.WriteParts(out, *d.Package)
	}
	return nil
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
