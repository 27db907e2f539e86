// Package knowledge implements the commands that show, compare and change the records of the
// catalog.
package knowledge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// Commands returns the commands in the order of the help.
func Commands() []*cobra.Command {
	return []*cobra.Command{getCommand(), describeCommand(), applyCommand(), diffCommand(), editCommand(), deleteCommand(),
		promoteCommand(), rollbackCommand(),
		importCommand(), expandCommand(), exportCommand(), watchCommand(), auditCommand()}
}

// connection holds the flags that all commands about records share.
type connection struct {
	connect.HTTP
	tenant string
}

func (c *connection) flags(cmd *cobra.Command, tenantUsage string) {
	c.HTTP.Flags(cmd)
	c.TenantFlag(cmd, &c.tenant, tenantUsage)
}

// key returns the key of a record in the scope that the flags select.
func (c *connection) key(kind, id string) schemas.RecordKey {
	return schemas.RecordKey{Kind: kind, ID: id, TenantID: schemas.Optional(c.tenant)}
}

// permit returns schemas.ErrForbidden if the credential may not change the records of the tenant.
func permit(ctx context.Context, c *client.Client, tenant *string) error {
	caller, err := c.Identity(ctx)
	if err != nil || caller.Role == "" { // without authentication
		return err
	}
	identity := &schemas.Identity{Role: caller.Role, Tenants: caller.Tenants}
	if err := identity.Authorize(schemas.PermissionRegister); err != nil {
		return err
	}
	return identity.AuthorizeTenant(schemas.PermissionRegister, &schemas.Unregister{TenantID: tenant})
}

const targetsUse = "KIND ID…|KIND/ID…"

// targets returns the records that the arguments name: a kind and ids, or KIND/ID for
// each. Without ids, it returns the kinds.
func (c *connection) targets(args []string) (kinds []string, keys []schemas.RecordKey, err error) {
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		if kinds, err = parseKinds(args[0]); err != nil {
			return nil, nil, err
		}
		if len(args) > 1 && len(kinds) > 1 {
			return nil, nil, flags.Usage(errors.New("expected one kind before the ids"))
		}
		for _, id := range args[1:] {
			keys = append(keys, c.key(kinds[0], id))
		}
		return kinds, keys, nil
	}
	for _, arg := range args {
		kind, id, err := records.ParseName(arg, schemas.Kinds())
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, c.key(kind, id))
	}
	return nil, keys, nil
}

// keys returns the records that the arguments name, at least one.
func (c *connection) keys(cmd *cobra.Command, args []string) ([]schemas.RecordKey, error) {
	_, keys, err := c.targets(args)
	if err == nil && len(keys) == 0 {
		err = flags.UsageError(cmd, errors.New("expected "+targetsUse))
	}
	return keys, err
}

// exactKey returns the record that the arguments name, in the scope of the tenant.
func (c *connection) exactKey(cmd *cobra.Command, args []string) (schemas.RecordKey, error) {
	_, keys, err := c.targets(args)
	if err == nil && len(keys) != 1 {
		err = flags.UsageError(cmd, errors.New("expected KIND ID or KIND/ID"))
	}
	if err != nil {
		return schemas.RecordKey{}, err
	}
	return records.ExactKey(keys[0].Kind, keys[0].ID, c.tenant), nil
}

// parseKinds returns the kinds of an argument such as skill,tools or all.
func parseKinds(arg string) (kinds []string, err error) {
	if arg == "all" {
		return schemas.Kinds(), nil
	}
	for name := range strings.SplitSeq(arg, ",") {
		kind, ok := records.ParseKind(name)
		if !ok {
			return nil, flags.Usage(fmt.Errorf("unknown kind %q: expected %s%s", name, flags.Alternatives(schemas.Kinds()),
				flags.DidYouMean(name, schemas.Kinds())))
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// complete completes a kind and ids.
func (c *connection) complete(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	name, prefix, named := strings.Cut(begin, "/")
	switch {
	case named:
		kind, ok := records.ParseKind(name)
		if !ok {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, directive := records.CompleteIDs(cmd, kind, prefix)
		for i := range list {
			list[i] = name + "/" + list[i]
		}
		return list, directive
	case len(args) == 0:
		return records.CompleteKinds(begin)
	}
	kind, ok := records.ParseKind(args[0])
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return records.CompleteIDs(cmd, kind, begin)
}

// name returns KIND/ID.
func name(kind, id string) string { return kind + "/" + id }

// scopeOf returns the scope of a record in messages.
func scopeOf(tenant string) string {
	if tenant == "" {
		return "in the global scope"
	}
	return "of tenant " + tenant
}
