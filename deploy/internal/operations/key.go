package operations

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/bus/keys"
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

const (
	// keyTimeout bounds a key command after the connection to NATS is established.
	keyTimeout = 10 * time.Second
	// openTimeout bounds the wait for the bucket of the keys, which "cairn setup" creates.
	openTimeout = 2 * time.Second
)

// key is a command about API keys.
type key struct {
	connect.NATS
	keys   connect.SecondUser
	output string
}

func keyCommand() *cobra.Command {
	cmd := flags.Group(&cobra.Command{
		Use:   "key",
		Short: "Manage API keys",
		Long: `Key manages the API keys that edges with --auth keys accept. NATS stores their hashes
in a stream that "cairn setup" creates; write access to it is permission to create keys.
Changes take effect on all edges within a second.`,
	})
	cmd.AddCommand(keyCreateCommand(), keyListCommand(), keyRevokeCommand())
	return cmd
}

func (k *key) flags(cmd *cobra.Command) {
	k.NATS.Flags(cmd.Flags())
	k.keys.KeysFlags(cmd.Flags())
}

// withStore connects, calls do with the key store, and closes the connection.
func (k *key) withStore(ctx context.Context, do func(context.Context, *keys.Store) error) error {
	conn, err := k.As(k.keys).Connect(ctx, "cairn-key")
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	opening, opened := context.WithTimeout(ctx, openTimeout)
	defer opened()
	store, err := keys.Open(opening, conn)
	if err != nil {
		return err
	}
	return do(ctx, store)
}

func keyListCommand() *cobra.Command {
	k := &key{}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List API keys",
		Example: "  cairn key list",
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.withStore(cmd.Context(), func(ctx context.Context, s *keys.Store) error {
				list, err := s.List(ctx)
				if err != nil {
					return err
				}
				return k.list(list, cmd.OutOrStdout())
			})
		},
	}
	k.flags(cmd)
	flags.Output(cmd, &k.output, "table", "json", "yaml", "name")
	return cmd
}

// keyInfo is a key without its hash.
type keyInfo struct {
	ID      string       `json:"id"`
	Role    schemas.Role `json:"role"`
	Tenants []string     `json:"tenants" doc:"none: all"`
	Note    string       `json:"note,omitzero"`
	State   string       `json:"state"`
	Created time.Time    `json:"created"`
	Expires time.Time    `json:"expires,omitzero"`
}

func (k *key) list(list []keys.Key, out io.Writer) error {
	now := time.Now()
	infos, ids := make([]keyInfo, len(list)), make([]string, len(list))
	for i, k := range list {
		infos[i] = keyInfo{k.ID, k.Role, k.Tenants, k.Note, k.State(now), k.Created, k.Expires}
		ids[i] = k.ID
	}
	return output.Result{Value: infos, Names: ids, Table: func(t *output.Table) {
		if len(infos) == 0 {
			t.Row("no keys; create one with: cairn key create")
			return
		}
		t.Row("ID", "ROLE", "TENANTS", "STATE", "CREATED", "EXPIRES", "NOTE")
		for i, l := range infos {
			expires := "never"
			if !l.Expires.IsZero() {
				expires = l.Expires.Format(time.DateTime)
			}
			t.Row(l.ID, string(l.Role), tenantList(list[i]), l.State, l.Created.Format(time.DateTime), expires, l.Note)
		}
	}}.Print(out, k.output)
}

func tenantList(k keys.Key) string {
	if len(k.Tenants) == 0 {
		return "all"
	}
	return strings.Join(k.Tenants, ", ")
}

func keyRevokeCommand() *cobra.Command {
	k := &key{}
	cmd := &cobra.Command{
		Use:     "revoke ID…",
		Short:   "Revoke API keys",
		Example: "  cairn key revoke 4pwq6kzv2n7x",
		Args:    flags.Args("key IDs", 1, -1),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return k.completeIDs(cmd), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			return k.withStore(cmd.Context(), func(ctx context.Context, s *keys.Store) error {
				return k.revoke(ctx, s, ids, cmd.OutOrStdout())
			})
		},
	}
	k.flags(cmd)
	connect.MessageFlag(cmd)
	flags.Text(cmd, &k.output)
	return cmd
}

// completeIDs completes the ids of the active keys, with their roles and notes. It completes nothing
// if the NATS server does not respond within a second.
func (k *key) completeIDs(cmd *cobra.Command) (ids []string) {
	if !flags.Prepare(cmd) {
		return nil
	}
	k.Timeout = flags.CompleteTimeout
	ctx, cancel := context.WithTimeout(cmd.Context(), flags.CompleteTimeout)
	defer cancel()
	_ = k.withStore(ctx, func(ctx context.Context, s *keys.Store) error { // a shell shows no errors
		list, err := s.List(ctx)
		now := time.Now()
		for _, key := range list {
			if key.State(now) == keys.StateActive {
				ids = append(ids, cobra.CompletionWithDesc(key.ID, output.Joined(string(key.Role), tenantList(key), key.Note)))
			}
		}
		return err
	})
	return ids
}

func (k *key) revoke(ctx context.Context, s *keys.Store, ids []string, out io.Writer) error {
	var failed error
	for i, id := range ids {
		err := s.Revoke(ctx, id)
		if failed = errors.Join(failed, err); err != nil && !errors.Is(err, keys.ErrNotAudited) {
			ids = ids[:i]
			break
		}
	}
	return errors.Join(output.Result{Value: map[string][]string{"revoked": ids}, Table: func(t *output.Table) {
		for _, id := range ids {
			t.Row("revoked " + id)
		}
	}}.Print(out, k.output), failed)
}
