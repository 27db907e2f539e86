package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"cairn/bus/keys"
	"cairn/deploy/internal/client"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// keyTimeout bounds a key command after the connection to NATS is established.
const keyTimeout = 10 * time.Second

// maxNote is the maximum length of the note of a key, in bytes.
const maxNote = 256

// key is a command about API keys.
type key struct {
	client.NATS
	keys client.SecondUser
	json bool
}

func keyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Manage API keys",
		Long: `Key manages the API keys that edges with --auth keys accept. NATS stores their hashes
in a stream that "cairn setup" creates; write access to it is permission to create keys.
Changes take effect on all edges within a second.`,
		Args: flags.Args("create, list or revoke", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keyCreateCommand(), keyListCommand(), keyRevokeCommand())
	return cmd
}

func (k *key) flags(cmd *cobra.Command) {
	k.NATS.Flags(cmd.Flags())
	k.keys.KeysFlags(cmd.Flags())
	flags.JSON(cmd, &k.json)
}

// with connects, calls do with the key store, and closes the connection.
func (k *key) with(ctx context.Context, do func(context.Context, *keys.Store) error) error {
	conn, err := k.As(k.keys).Connect(ctx, "cairn-key")
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	store, err := keys.Open(ctx, conn)
	if err != nil {
		return err
	}
	return do(ctx, store)
}

// keyCreate creates a key.
type keyCreate struct {
	key
	tenants []string
	all     bool
	role    string
	note    string
	secret  string // name of the Kubernetes Secret
	account string // directory with the service account credentials
	expires days
}

func keyCreateCommand() *cobra.Command {
	k := &keyCreate{expires: days(90 * day)}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key and print it once",
		Long: `Create generates an API key and prints it once; only its hash is stored. With
--kubernetes-secret it is written to a Secret instead of stdout; a Secret that already
contains a key is not changed.

Permissions by role: a reader resolves, lists and reads tags; a registrar also writes
tags and registers records; an analyst, in addition to a reader, writes tags and runs
analyses; an admin has all permissions, including global records. A key is valid for
its tenants only; requests without tenant_id use its single tenant.`,
		Example: `  cairn key create --tenant acme --role registrar --note "the importer of Ann's team"
  cairn key create --all-tenants --role admin --expires 24h`,
		Args: flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&k.tenants, "tenant", nil, "`TENANT` of the key; comma-separated list for several")
	f.BoolVar(&k.all, "all-tenants", false, "make the key valid for every tenant")
	f.StringVar(&k.role, "role", "", "`ROLE` of the key: reader, registrar, analyst or admin")
	f.StringVar(&k.note, "note", "", "description `TEXT` of the key, shown by key list")
	f.StringVar(&k.secret, "kubernetes-secret", "", "`NAME` of an existing Secret in the pod's namespace, to which the key is written as key and id")
	f.StringVar(&k.account, "kubernetes-account", accountFolder, "`DIRECTORY` with token, ca.crt and namespace of a service account with the permissions get and patch on the Secret")
	f.Var(&k.expires, "expires", "lifetime `DURATION` of the key, such as 90d or 12h, or never")
	k.flags(cmd)
	return cmd
}

func (k *keyCreate) run(ctx context.Context, out io.Writer) error {
	switch {
	case k.role == "":
		return fmt.Errorf("--role: want one of %v", schemas.Roles())
	case k.all == (len(k.tenants) > 0):
		return errors.New("want exactly one of --tenant and --all-tenants")
	case len(k.note) > maxNote || strings.ContainsFunc(k.note, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("--note: want one line of at most %d bytes", maxNote)
	}
	made := keys.Key{Role: schemas.Role(k.role), Tenants: k.tenants, Note: k.note, Expires: k.expires.from(time.Now())}
	if err := made.Identity().Validate(); err != nil {
		return err
	}
	var target *clusterSecret
	if k.secret != "" {
		var err error
		if target, err = openClusterSecret(k.account, k.secret, os.Getenv); err != nil {
			return err
		}
		switch has, err := target.has(ctx, "key"); {
		case err != nil:
			return err
		case has:
			_, err := fmt.Fprintf(out, "Secret %s already contains a key; no key was created\n", k.secret)
			return err
		}
	}
	return k.with(ctx, func(ctx context.Context, s *keys.Store) error {
		made, secret, err := s.Create(ctx, made)
		if err != nil {
			return err
		}
		if target != nil {
			if err := target.set(ctx, map[string]string{"id": made.ID, "key": secret}); err != nil {
				return errors.Join(err, s.Revoke(ctx, made.ID)) // otherwise the key would be lost, but valid
			}
			_, err = fmt.Fprintf(out, "Wrote key %s (role %s, tenants %s, %s) to Secret %s.\n", made.ID, made.Role, tenantList(made), expiry(made), k.secret)
			return err
		}
		if k.json {
			return output.JSON(out, map[string]string{"id": made.ID, "key": secret})
		}
		_, err = fmt.Fprintf(out, "%s\nKey %s: role %s, tenants %s, %s. It is not shown again.\n", secret, made.ID, made.Role, tenantList(made), expiry(made))
		return err
	})
}

func tenantList(k keys.Key) string {
	if len(k.Tenants) == 0 {
		return "all"
	}
	return strings.Join(k.Tenants, ", ")
}

func expiry(k keys.Key) string {
	if k.Expires.IsZero() {
		return "no expiry"
	}
	return "expires " + k.Expires.Format(time.DateTime) + " UTC"
}

func keyRevokeCommand() *cobra.Command {
	k := &key{}
	cmd := &cobra.Command{
		Use:     "revoke ID…",
		Short:   "Revoke API keys",
		Example: "  cairn key revoke 4pwq6kzv2n7x",
		Args:    flags.Args("key IDs", 1, -1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return k.with(cmd.Context(), func(ctx context.Context, s *keys.Store) error {
				return k.revoke(ctx, s, ids, cmd.OutOrStdout())
			})
		},
	}
	k.flags(cmd)
	return cmd
}

func (k *key) revoke(ctx context.Context, s *keys.Store, ids []string, out io.Writer) error {
	for _, id := range ids {
		if err := s.Revoke(ctx, id); err != nil {
			return err
		}
		if k.json {
			continue
		}
		if _, err := fmt.Fprintf(out, "revoked %s\n", id); err != nil {
			return err
		}
	}
	if k.json {
		return output.JSON(out, map[string][]string{"revoked": ids})
	}
	return nil
}
