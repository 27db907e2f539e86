package records

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/edge/client"
	"cairn/schemas"
)

// CompleteIDs completes the ids of a kind, with descriptions. It completes nothing if the server
// does not respond within a second.
func CompleteIDs(cmd *cobra.Command, kind, begin string) (list []string, _ cobra.ShellCompDirective) {
	connect.Complete(cmd, func(ctx context.Context, c *client.Client) {
		q := schemas.RecordQuery{Kind: kind, Prefix: begin, TenantID: tenantOf(cmd)}
		for _, r := range firstRecords(ctx, c, q) {
			list = append(list, cobra.CompletionWithDesc(r.ID, Summaries(r.JSON)[0].About()))
		}
	})
	return list, cobra.ShellCompDirectiveNoFileComp
}

// tenantOf returns the tenant of the flag of cmd; nil: cmd does not have the flag.
func tenantOf(cmd *cobra.Command) *string {
	tenant, _ := cmd.Flags().GetString("tenant")
	return schemas.Optional(tenant)
}

// firstRecords returns the first records of a query, until an error.
func firstRecords(ctx context.Context, c *client.Client, q schemas.RecordQuery) []client.Record {
	q.Limit = new(flags.MaxCompletions)
	list, _, _ := connect.First(c.List(ctx, q), flags.MaxCompletions)
	return list
}

// CompleteField completes the values of a field in the records of the kind that the arguments name,
// or of all kinds. It completes nothing if the server does not respond within a second.
func CompleteField(field func(Summary) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (values []string, _ cobra.ShellCompDirective) {
		kinds := schemas.Kinds()
		if len(args) > 0 {
			if kind, ok := ParseKind(args[0]); ok {
				kinds = []string{kind}
			}
		}
		connect.Complete(cmd, func(ctx context.Context, c *client.Client) {
			for _, kind := range kinds {
				q := schemas.RecordQuery{Kind: kind, TenantID: tenantOf(cmd)}
				for _, r := range firstRecords(ctx, c, q) {
					values = append(values, field(Summaries(r.JSON)[0])...)
				}
			}
		})
		values = slices.DeleteFunc(values, func(value string) bool { return value == "" })
		slices.Sort(values)
		return slices.Compact(values), cobra.ShellCompDirectiveNoFileComp
	}
}

// kindNames maps the names of kinds in arguments to the kinds: tool, tools, and for
// context builders cb.
var kindNames = func() map[string]string {
	names := map[string]string{"cb": schemas.KindContextBuilder, "cbs": schemas.KindContextBuilder}
	for _, kind := range schemas.Kinds() {
		for _, name := range []string{kind, strings.ReplaceAll(kind, "_", "-"), strings.ReplaceAll(kind, "_", "")} {
			names[name], names[name+"s"] = kind, kind
		}
	}
	return names
}()

// ParseKind returns the kind of an argument such as tool, tools or context-builder.
func ParseKind(text string) (string, bool) {
	kind, ok := kindNames[strings.ToLower(text)]
	return kind, ok
}

// ParseName returns the kind and the id of an argument such as tool/a.b.c, or a usage error. The kind is one of kinds.
func ParseName(text string, kinds []string) (kind, id string, err error) {
	name, id, _ := strings.Cut(text, "/")
	kind, ok := ParseKind(name)
	if !ok && slices.Contains(kinds, name) {
		kind, ok = name, true
	}
	if !ok || id == "" {
		return "", "", flags.Usage(fmt.Errorf("%q: expected KIND/ID with the kind %s%s", text, flags.Alternatives(kinds),
			flags.DidYouMean(name, kinds)))
	}
	return kind, id, nil
}

// CompleteKinds returns the kinds that begin with a text.
func CompleteKinds(begin string) ([]string, cobra.ShellCompDirective) {
	return slices.DeleteFunc(schemas.Kinds(), func(k string) bool { return !strings.HasPrefix(k, begin) }),
		cobra.ShellCompDirectiveNoFileComp
}
