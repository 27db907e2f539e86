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
	"cairn/schemas"
)

// keyTime bounds a command about keys, once NATS answers.
const keyTime = 10 * time.Second

// maxNote bounds the note of a key, in bytes.
const maxNote = 256

// key is a command about API keys.
type key struct {
	natsClient
	keys secondUser
	json bool
}

func keyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make API keys, and take them back",
		Long: `Key makes the API keys by which an edge with --auth keys knows its callers. They are
kept on NATS, hashed, in a stream that cairn setup creates; a NATS user who may write to
it can make keys. Every edge learns of a change within a second.`,
		Args: wants("create, list or revoke", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keyCreateCommand(), keyListCommand(), keyRevokeCommand())
	return cmd
}

func (k *key) flags(cmd *cobra.Command) {
	k.natsClient.flags(cmd.Flags())
	k.keys.flags(cmd.Flags(), "keys-nats", keysUser)
	jsonFlag(cmd, &k.json)
}

// with does something with the store of keys.
func (k *key) with(ctx context.Context, do func(context.Context, *keys.Store) error) error {
	client := &k.natsClient
	if k.keys.url != "" {
		client = k.keys.client(client)
	}
	conn, err := client.connected(ctx, "cairn-key")
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, keyTime)
	defer cancel()
	store, err := keys.Open(ctx, conn)
	if err != nil {
		return err
	}
	return do(ctx, store)
}

// keyCreate makes a key.
type keyCreate struct {
	key
	tenants []string
	all     bool
	role    string
	note    string
	secret  string // of Kubernetes
	account string // folder with the credentials for it
	expires days
}

func keyCreateCommand() *cobra.Command {
	k := &keyCreate{expires: days(90 * day)}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make an API key, and show it once",
		Long: `Create makes an API key and shows it, this once: only its hash is kept. With
--kubernetes-secret it is written to a Secret instead, and is in no log; a Secret
that has a key is left as it is.

A reader resolves, lists and reads tags; a registrar also writes tags and registers; an analyst
also writes tags and asks about estates; an admin does all of that, and registers
global records. A key speaks for its tenants alone, and without a tenant_id for
its own one.`,
		Example: `  cairn key create --tenant acme --role registrar --note "the importer of Ann's team"
  cairn key create --all-tenants --role admin --expires 24h`,
		Args: wants("nothing more", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&k.tenants, "tenant", nil, "`TENANT` for which the key speaks; several with commas between")
	f.BoolVar(&k.all, "all-tenants", false, "the key speaks for every tenant")
	f.StringVar(&k.role, "role", "", "`ROLE` of who has the key: reader, registrar, analyst or admin")
	f.StringVar(&k.note, "note", "", "`TEXT` by which the key is told from others in key list, such as who has it")
	f.StringVar(&k.secret, "kubernetes-secret", "", "`NAME` of a Secret in the namespace of the pod, to which the key is written, under key and id; it must exist")
	f.StringVar(&k.account, "kubernetes-account", accountFolder, "`FOLDER` with token, ca.crt and namespace of a service account that may get and patch the Secret")
	f.Var(&k.expires, "expires", "`TIME` after which the key is refused, such as 90d or 12h; never: it is not")
	k.flags(cmd)
	return cmd
}

func (k *keyCreate) run(ctx context.Context, out io.Writer) error {
	switch {
	case k.role == "":
		return fmt.Errorf("--role: want one of %v", schemas.Roles())
	case k.all == (len(k.tenants) > 0):
		return errors.New("want --tenant, or --all-tenants, and not both")
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
			_, err := fmt.Fprintf(out, "the Secret %s has a key; none was created\n", k.secret)
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
				return errors.Join(err, s.Revoke(ctx, made.ID)) // the key would be lost, and valid
			}
			_, err = fmt.Fprintf(out, "The Secret %s has key %s of %s for %s, %s.\n", k.secret, made.ID, a(made.Role), speaksFor(made), until(made))
			return err
		}
		if k.json {
			return writeJSON(out, map[string]string{"id": made.ID, "key": secret})
		}
		_, err = fmt.Fprintf(out, "%s\nThis is key %s of %s for %s, %s. It is not shown again.\n", secret, made.ID, a(made.Role), speaksFor(made), until(made))
		return err
	})
}

// a is the role with its article.
func a(r schemas.Role) string {
	if r == schemas.RoleAnalyst || r == schemas.RoleAdmin {
		return "an " + string(r)
	}
	return "a " + string(r)
}

func speaksFor(k keys.Key) string {
	if len(k.Tenants) == 0 {
		return "all tenants"
	}
	return strings.Join(k.Tenants, ", ")
}

func until(k keys.Key) string {
	if k.Expires.IsZero() {
		return "without an end"
	}
	return "until " + k.Expires.Format(time.DateTime) + " UTC"
}

func keyRevokeCommand() *cobra.Command {
	k := &key{}
	cmd := &cobra.Command{
		Use:     "revoke ID…",
		Short:   "Have API keys refused, everywhere",
		Example: "  cairn key revoke 4pwq6kzv2n7x",
		Args:    wants("ids of keys", 1, -1),
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
		if _, err := fmt.Fprintf(out, "%s is revoked\n", id); err != nil {
			return err
		}
	}
	if k.json {
		return writeJSON(out, map[string][]string{"revoked": ids})
	}
	return nil
}
