package query

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// resolveOptions are the flags of cairn resolve.
type resolveOptions struct {
	connect.HTTP
	class   string
	tenant  string
	explain bool
	output  string
}

func resolveCommand() *cobra.Command {
	r := &resolveOptions{}
	cmd := &cobra.Command{
		Use:   "resolve SKILL_ID | --tool-class CLASS",
		Short: "Print the package of a skill, or the tools of a class",
		Long: `Resolve prints what an agent receives for a skill: its context builders, tools,
guardrails and template; with --tool-class, the tools of a class.

With --tenant, records of the tenant take precedence over global ones, and guardrails
of both scopes apply. Without it, only global records are visible. --explain prints the
scope and the link of each part.`,
		Example: `  cairn resolve storage.volume_capacity --tenant acme --explain
  cairn resolve --tool-class inventory.read
  cairn resolve storage.volume_capacity -o json | jq '.tools[].tool_id'`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case r.class == "" && len(args) != 1:
				return flags.UsageError(cmd, errors.New("expected one SKILL_ID, or --tool-class; to search, use cairn search"))
			case r.class != "" && len(args) > 0:
				return flags.UsageError(cmd, errors.New("expected either a SKILL_ID or --tool-class"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.class != "" {
				return r.tools(cmd.Context(), cmd.OutOrStdout())
			}
			return r.skill(cmd.Context(), args[0], cmd.OutOrStdout())
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return records.CompleteIDs(cmd, schemas.KindSkill, begin)
		},
	}
	r.Flags(cmd)
	cmd.Flags().StringVar(&r.class, "tool-class", "", "`CLASS` of the tools to print")
	r.TenantFlag(cmd, &r.tenant, "`TENANT` scope of the request")
	cmd.Flags().BoolVar(&r.explain, "explain", false, "print the scope and the link of each part")
	flags.Output(cmd, &r.output, "table", "json", "yaml", "name")
	return cmd
}

func (r *resolveOptions) options() schemas.QueryOptions {
	return schemas.QueryOptions{TenantID: schemas.Optional(r.tenant), Explain: r.explain}
}

func (r *resolveOptions) skill(ctx context.Context, id string, out io.Writer) error {
	p, err := r.Client.Package(ctx, id, r.options())
	if err != nil {
		return err
	}
	if r.output == "table" {
		records.WritePackage(out, p)
		return nil
	}
	return output.Result{Value: p, Names: records.PackageNames(p)}.Print(out, r.output)
}

func (r *resolveOptions) tools(ctx context.Context, out io.Writer) error {
	a, err := r.Client.ToolClass(ctx, schemas.ToolClassQuery{ToolClass: r.class, QueryOptions: r.options()})
	if err != nil {
		return err
	}
	list := records.Summaries(a.Tools...)
	return output.Result{Value: a, Names: records.Names(schemas.KindTool, list), Table: func(t *output.Table) {
		why := records.ReasonsOf(a.Explained)
		t.Row("TOOL", "CLASS", "DESCRIPTION")
		for _, p := range list {
			t.Row(p.ToolID, p.ToolClass, output.Joined(p.About(), why.Explanation(schemas.KindTool, p.ToolID)))
		}
	}}.Print(out, r.output)
}

// degraded adds a line to t that says why a search is incomplete.
func degraded(t *output.Table, reason string) {
	if reason != "" {
		t.Row("degraded: " + reason)
	}
}
