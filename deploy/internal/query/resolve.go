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
	class     string
	template  string
	variables []string // NAME=VALUE
	tenant    string
	explain   bool
	output    string
}

func resolveCommand() *cobra.Command {
	r := &resolveOptions{}
	cmd := &cobra.Command{
		Use:   "resolve SKILL_ID | --tool-class CLASS | --template TEMPLATE_ID",
		Short: "Print the package of a skill, the tools of a class, or a rendered template",
		Long: `Resolve prints what an agent receives for a skill: its context builders, tools,
guardrails and template, and what it links to and is missing; with --tool-class, the tools
of a class; with --template, the body of a template with the values of --var, and with
SKILL_ID and --var that of the template of the skill.

With --tenant, or a key of one tenant, records of the tenant take precedence over global
ones, and guardrails of both scopes apply. Otherwise only global records are visible.
--explain prints the scope and the link of each part.`,
		Example: `  cairn resolve storage.volume_capacity --tenant acme --explain
  cairn resolve --tool-class inventory.read
  cairn resolve --template tpl.risk_list --var domain=compute --var max=5
  cairn resolve storage.volume_capacity -o json | jq '.tools[].tool_id'`,
		Args: func(cmd *cobra.Command, args []string) error {
			given := len(args) + len(output.NonEmpty(r.class, r.template))
			switch {
			case given == 0:
				return flags.UsageError(cmd,
					errors.New("expected one SKILL_ID, --tool-class or --template; to search, use cairn search"))
			case given > 1:
				return flags.UsageError(cmd, errors.New("expected either a SKILL_ID or --tool-class or --template"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.class != "" {
				return r.tools(cmd.Context(), cmd.OutOrStdout())
			}
			if r.template != "" || len(r.variables) > 0 {
				return renderTemplate(cmd, r, args)
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
	cmd.Flags().StringVar(&r.template, "template", "", "`TEMPLATE_ID` of the template to render")
	cmd.Flags().StringArrayVar(&r.variables, "var", nil, "`NAME=VALUE` of a variable of the template; repeatable")
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
			t.Row(p.ToolID, p.ToolClass, output.Joined(p.About(), why.Explanation(schemas.KindTool, p)))
		}
	}}.Print(out, r.output)
}

// degraded adds a line to t that says why a search is incomplete.
func degraded(t *output.Table, reason string) {
	if reason != "" {
		t.Row("degraded: " + reason)
	}
}
