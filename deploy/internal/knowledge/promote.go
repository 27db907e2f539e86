package knowledge

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// promoteOptions are the flags of cairn promote.
type promoteOptions struct {
	connection
	remove bool
}

func promoteCommand() *cobra.Command {
	p := &promoteOptions{}
	cmd := &cobra.Command{
		Use:   "promote KIND/ID[@VERSION] ALIAS",
		Short: "Point an alias to a revision of a record",
		Long: `Promote points an alias such as production to a revision of a record: to the newest one
with the VERSION, to that of the alias VERSION, or without it to the newest one.
KIND/ID@ALIAS names the revision wherever KIND/ID@VERSION does, until the alias is moved,
however many revisions follow. "cairn describe" prints the aliases of a record.`,
		Example: `  cairn promote skill/storage.volume_capacity@1.2.0 staging --tenant acme
  cairn promote skill/storage.volume_capacity@staging production --tenant acme
  cairn resolve storage.volume_capacity@production --tenant acme
  cairn promote skill/storage.volume_capacity staging --delete --tenant acme`,
		Args:              flags.Args("KIND/ID[@VERSION] ALIAS", 2, 2),
		ValidArgsFunction: p.complete,
		RunE:              p.run,
	}
	p.flags(cmd, "`TENANT` of the record; empty: global scope")
	connect.MessageFlag(cmd)
	cmd.Flags().BoolVar(&p.remove, "delete", false, "delete the alias")
	return cmd
}

func (p *promoteOptions) run(cmd *cobra.Command, args []string) error {
	keys, err := p.keys(cmd, args[:1])
	if err != nil {
		return err
	}
	id, version := cutVersion(keys[0].ID)
	put := schemas.PutAlias{
		AliasKey: schemas.AliasKey{Kind: keys[0].Kind, ID: id, Name: args[1], TenantID: keys[0].TenantID},
		Target:   schemas.AliasTarget{Version: version},
	}
	if p.remove {
		if err := p.Client.DeleteAlias(cmd.Context(), put.AliasKey); err != nil {
			return err
		}
		output.Line(cmd.OutOrStdout(), "deleted "+name(put.Kind, id)+"@"+put.Name)
		return nil
	}
	stored, err := p.Client.PutAlias(cmd.Context(), put)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s@%s is revision %s", name(put.Kind, id), put.Name, stored.Revision)
	if stored.Version != "" {
		line += ", version " + stored.Version
	}
	output.Line(cmd.OutOrStdout(), line)
	return nil
}

// cutVersion returns the id and the version or alias of ID@VERSION; an id such as acme.weather.@server has none.
func cutVersion(text string) (id, version string) {
	i := strings.LastIndexByte(text, '@')
	if i <= 0 || text[i-1] == '.' || !schemas.ValidAlias(text[i+1:]) && !schemas.ValidVersion(text[i+1:]) {
		return text, ""
	}
	return text[:i], text[i+1:]
}
