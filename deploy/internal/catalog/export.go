package catalog

import (
	"context"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// export prints all records of a scope.
type export struct {
	connection
	labels string
	output string
}

func exportCommand() *cobra.Command {
	e := &export{}
	cmd := &cobra.Command{
		Use:   "export [KIND…]",
		Short: "Print all records of a scope as files for apply",
		Long: `Export prints the records of the tenant, or the global ones without --tenant, with their
instructions and resources, ordered by kind and id. "cairn apply" of the output changes
nothing. A backup of all tenants with tags and API keys is "cairn backup".`,
		Example: `  cairn export > global.yaml
  cairn export skill,tool --tenant acme -o json > acme.json
  cairn export | cairn apply - --url other.example.com:443`,
		Args: flags.Args("at most one list of kinds", 0, 1),
		ValidArgsFunction: func(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
			return records.CompleteKinds(begin)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds := schemas.Kinds()
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
	bar.Close()
	var texts []jsontext.Value
	for _, r := range list {
		if r.JSON != nil {
			texts = append(texts, r.JSON)
		}
	}
	return records.Print(out, e.output, texts, false)
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
