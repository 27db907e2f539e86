package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// Values of --format.
const (
	formatRecords = "records"
	formatSkills  = "skills"
)

// export writes all records of a scope.
type export struct {
	connection
	labels string
	output string
	format string
	dir    string
}

func exportCommand() *cobra.Command {
	e := &export{}
	cmd := &cobra.Command{
		Use:   "export [KIND…]",
		Short: "Print all records of a scope as files for apply, or write skills as SKILL.md",
		Long: `Export prints the records of the tenant, or the global ones without --tenant, with their
instructions and resources, ordered by kind and id. "cairn apply" of the output changes
nothing. A backup of all tenants with tags and API keys is "cairn backup".`,
		Example: `  cairn export > global.yaml
  cairn export skill,tool --tenant acme -o json > acme.json
  cairn export | cairn apply - --url other.example.com:443
  cairn export --format skills --dir skills --tenant acme`,
		Args: flags.Args("at most one list of kinds", 0, 1),
		ValidArgsFunction: func(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
			return records.CompleteKinds(begin)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds := schemas.Kinds()
			switch {
			case (e.format == formatSkills) != (e.dir != ""):
				return flags.UsageError(cmd, errors.New("--format skills requires --dir, and no other format has it"))
			case e.format == formatSkills && len(args) > 0:
				return flags.UsageError(cmd, errors.New("--format skills exports skills only; expected no kinds"))
			case e.format == formatSkills:
				kinds = []string{schemas.KindSkill}
			}
			if len(args) > 0 {
				var err error
				if kinds, err = parseKinds(args[0]); err != nil {
					return err
				}
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			return e.run(cmd.Context(), c, kinds, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	e.flags(cmd, "`TENANT` whose records are printed; empty: global scope")
	cmd.Flags().StringVar(&e.labels, "labels", "", "only records with all of these `LABELS`, such as team=network,tier=gold")
	flags.Choice(cmd, &e.format, "format", "", "`FORMAT` of the export: records or skills", formatRecords, formatSkills)
	cmd.Flags().StringVar(&e.dir, "dir", "", "with --format skills: `DIRECTORY` to which the skills are written")
	flags.Output(cmd, &e.output, "yaml", "json")
	return cmd
}

func (e *export) run(ctx context.Context, c *client.Client, kinds []string, out, errOut io.Writer) error {
	bar := output.NewProgress(errOut, "reading", -1)
	defer bar.Close()
	list, err := e.scope(ctx, c, kinds, e.labels)
	if err != nil {
		return err
	}
	if err := readAll(ctx, c, list, bar); err != nil {
		return err
	}
	if e.format == formatSkills {
		written, err := e.skills(ctx, c, list)
		bar.Close()
		return errors.Join(err, output.Line(out, fmt.Sprintf("exported %d skills to %s", written, e.dir)))
	}
	bar.Close()
	var texts []jsontext.Value
	for _, r := range list {
		if r.JSON != nil {
			texts = append(texts, r.JSON)
		}
	}
	return output.Values(out, e.output, texts, false)
}

// scope returns the records of the kinds in the scope of the tenant, or the global ones
// without one, as a listing has them.
func (c *connection) scope(ctx context.Context, from *client.Client, kinds []string, labels string) ([]client.Record, error) {
	page := 1000
	q := schemas.RecordQuery{Scope: schemas.ScopeGlobal, Labels: labels, Limit: &page}
	if c.tenant != "" {
		q.TenantID, q.Scope = &c.tenant, schemas.ScopeTenant
	}
	var list []client.Record
	for _, kind := range kinds {
		q.Kind = kind
		for r, err := range from.List(ctx, q) {
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
	}
	return list, nil
}
