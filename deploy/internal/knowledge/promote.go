package knowledge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
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
		Use:   "promote KIND/ID[@VERSION|@REVISION] ALIAS",
		Short: "Point an alias to a revision of a record",
		Long: `Promote points an alias such as production to a revision of a record: to the newest one
with the VERSION, to that of the alias VERSION, to the REVISION of the history, or without
them to the newest one. KIND/ID@ALIAS names the revision wherever KIND/ID@VERSION does, until
the alias is moved, however many revisions follow. "cairn describe" prints the aliases of a
record.`,
		Example: `  cairn promote skill/storage.volume_capacity@1.2.0 staging --tenant acme
  cairn promote skill/storage.volume_capacity@staging production --tenant acme
  cairn resolve storage.volume_capacity@production --tenant acme
  cairn promote skill/storage.volume_capacity staging --delete --tenant acme`,
		Args:              flags.Args("KIND/ID[@VERSION|@REVISION] ALIAS", 2, 2),
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
	id, target := cutVersion(keys[0].ID)
	put := schemas.PutAlias{
		AliasKey: schemas.AliasKey{Kind: keys[0].Kind, ID: id, Name: args[1], TenantID: keys[0].TenantID},
		Target:   target,
	}
	if p.remove {
		if target != (schemas.AliasTarget{}) {
			return flags.UsageError(cmd, errors.New("--delete: expected KIND/ID ALIAS, without a version"))
		}
		return p.delete(cmd, put.AliasKey)
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

// delete deletes an alias, or returns schemas.ErrRecordNotFound.
func (p *promoteOptions) delete(cmd *cobra.Command, key schemas.AliasKey) error {
	alias := name(key.Kind, key.ID) + "@" + key.Name
	list, err := p.Client.Aliases(cmd.Context(), records.ExactKey(key.Kind, key.ID, p.tenant))
	if err == nil && !slices.ContainsFunc(list, func(a schemas.Alias) bool { return a.Name == key.Name }) {
		err = schemas.ErrRecordNotFound.Because("no alias " + alias + " " + scopeOf(p.tenant))
	}
	if err == nil {
		err = p.Client.DeleteAlias(cmd.Context(), key)
	}
	if err != nil {
		return err
	}
	output.Line(cmd.OutOrStdout(), "deleted "+alias)
	return nil
}

// cutVersion returns the id and the target of ID@VERSION, where VERSION is a version, an alias or a revision; an id
// such as acme.weather.@server has none.
func cutVersion(text string) (id string, target schemas.AliasTarget) {
	i := strings.LastIndexByte(text, '@')
	if i <= 0 || text[i-1] == '.' {
		return text, target
	}
	suffix := text[i+1:]
	_, err := schemas.ParseConsistencyToken(suffix)
	switch {
	case schemas.ValidAlias(suffix), schemas.ValidVersion(suffix):
		target.Version = suffix
	case err == nil:
		target.Revision = suffix
	default:
		return text, target
	}
	return text[:i], target
}
