package operations

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
)

// whoamiCommand returns the command cairn whoami.
func whoamiCommand() *cobra.Command {
	var c connect.HTTP
	var format string
	cmd := &cobra.Command{
		Use:   "whoami",
		Short: "Print the credential, its tenants and permissions",
		Long: `Whoami prints how the server identifies the credential: its id, role, tenants and
permissions, and the scope of commands without --tenant.`,
		Example: "  cairn whoami\n  cairn whoami -o json | jq -r .scope",
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			caller, err := c.Client.Identity(cmd.Context())
			if err != nil {
				return err
			}
			permissions := make([]string, len(caller.Permissions))
			for i, p := range caller.Permissions {
				permissions[i] = string(p)
			}
			scope := cmp.Or(caller.Scope, "global")
			if len(caller.Tenants) > 1 {
				scope = "none: set --tenant"
			}
			return output.Result{Value: caller, Table: func(t *output.Table) {
				t.Row("id", cmp.Or(caller.ID, "none: the server does not require authentication"))
				t.Row("role", string(cmp.Or(caller.Role, "none")))
				t.Row("tenants", cmp.Or(strings.Join(caller.Tenants, ", "), "all"))
				t.Row("scope", scope)
				t.Row("permissions", strings.Join(permissions, ", "))
			}}.Print(cmd.OutOrStdout(), format)
		},
	}
	c.Flags(cmd)
	flags.Text(cmd, &format)
	return cmd
}
