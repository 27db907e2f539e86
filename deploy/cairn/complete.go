package main

import (
	"github.com/spf13/cobra"

	"cairn/deploy/internal/contexts"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// completions returns the default completions of flag values by the name of the flag.
func completions(getenv func(string) string) map[string]cobra.CompletionFunc {
	roles := make([]string, 0, len(schemas.Roles()))
	for _, role := range schemas.Roles() {
		roles = append(roles, string(role))
	}
	return map[string]cobra.CompletionFunc{
		flags.Context: contexts.Complete(getenv),
		"tenant":      contexts.CompleteTenants(getenv),
		"domain":      records.CompleteField(func(s records.Summary) []string { return []string{s.Domain} }),
		"labels":      records.CompleteField(func(s records.Summary) []string { return s.Labels.Pairs() }),
		"status":      oneOf(schemas.StatusActive, schemas.StatusDraft, schemas.StatusDeprecated, schemas.StatusRetired),
		"role":        oneOf(roles...),
		"auth":        oneOf("keys", "oidc=", "off"),
		"top-order":   oneOf("desc", "asc"),
		"over-groups": oneOf("avg", "min", "max", "sum", "p50", "p95", "count"),
		"log-level":   oneOf("debug", "info", "warn", "error"),
	}
}

func oneOf(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// complete registers the completions of the flags of cmd.
func complete(cmd *cobra.Command, values map[string]cobra.CompletionFunc) {
	for name, values := range values {
		if _, defined := cmd.GetFlagCompletionFunc(name); defined || cmd.Flags().Lookup(name) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(name, values); err != nil {
			panic(err) // the flag exists
		}
	}
}
