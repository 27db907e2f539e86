package records

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/edge/client"
	"cairn/schemas"
)

// TenantFlag defines --tenant.
func TenantFlag(cmd *cobra.Command, tenant *string, usage string) {
	cmd.Flags().StringVar(tenant, "tenant", "", usage)
}

// CompleteIDs completes the ids of a kind, with descriptions. It completes nothing if the server
// does not respond within a second.
func CompleteIDs(cmd *cobra.Command, h *connect.HTTP, kind string, tenant *string, begin string) ([]string, cobra.ShellCompDirective) {
	limit := flags.MaxCompletions
	q := schemas.RecordQuery{Kind: kind, Prefix: begin, Limit: &limit}
	var list []string
	h.Complete(cmd, func(ctx context.Context, c *client.Client) {
		if *tenant != "" {
			q.TenantID = tenant
		}
		for r, err := range c.List(ctx, q) {
			if err != nil || len(list) == limit {
				break
			}
			list = append(list, cobra.CompletionWithDesc(r.ID, Summaries(r.JSON)[0].About()))
		}
	})
	return list, cobra.ShellCompDirectiveNoFileComp
}

// CompleteField completes the values of a field in the records of the kind that the arguments name,
// or of all kinds. It completes nothing if the server does not respond within a second.
func CompleteField(field func(Summary) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := flaggedClient(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), flags.CompleteTimeout)
		defer cancel()
		kinds := schemas.Kinds()
		if len(args) > 0 {
			if kind, ok := ParseKind(args[0]); ok {
				kinds = []string{kind}
			}
		}
		var values []string
		for _, kind := range kinds {
			values = append(values, fieldValues(ctx, c, cmd, kind, field)...)
		}
		slices.Sort(values)
		return slices.Compact(values), cobra.ShellCompDirectiveNoFileComp
	}
}

// fieldValues returns the values of a field in the first records of a kind.
func fieldValues(ctx context.Context, c *client.Client, cmd *cobra.Command, kind string, field func(Summary) []string) (values []string) {
	q := schemas.RecordQuery{Kind: kind, Limit: new(flags.MaxCompletions)}
	if tenant := flagValue(cmd, "tenant"); tenant != "" {
		q.TenantID = &tenant
	}
	n := 0
	for r, err := range c.List(ctx, q) {
		if n++; err != nil || n > flags.MaxCompletions {
			break
		}
		for _, value := range field(Summaries(r.JSON)[0]) {
			if value != "" {
				values = append(values, value)
			}
		}
	}
	return values
}

// flaggedClient returns a client without retries for the values of --url and --key.
func flaggedClient(cmd *cobra.Command) (*client.Client, error) {
	if !flags.Prepare(cmd) {
		return nil, errors.New("invalid flags")
	}
	return client.New(client.Config{URL: flagValue(cmd, "url"), Key: flagValue(cmd, "key"), RetryTimeout: -1})
}

// flagValue returns the value of a flag; empty: cmd does not have it.
func flagValue(cmd *cobra.Command, name string) string {
	f := cmd.Flags().Lookup(name)
	if f == nil {
		return ""
	}
	return f.Value.String()
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

// CompleteKinds returns the kinds that begin with a text.
func CompleteKinds(begin string) ([]string, cobra.ShellCompDirective) {
	return slices.DeleteFunc(schemas.Kinds(), func(k string) bool { return !strings.HasPrefix(k, begin) }),
		cobra.ShellCompDirectiveNoFileComp
}
