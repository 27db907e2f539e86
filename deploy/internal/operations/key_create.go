package operations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"cairn/bus/keys"
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// maxNote is the maximum length of the note of a key, in bytes.
const maxNote = 256

// keyCreate creates a key.
type keyCreate struct {
	key
	tenants []string
	global  bool
	role    string
	note    string
	secret  string // name of the Kubernetes Secret
	account string // directory with the service account credentials
	expires time.Duration
}

func keyCreateCommand() *cobra.Command {
	k := &keyCreate{expires: 90 * 24 * time.Hour}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key and print it once",
		Long: `Create generates an API key and prints it once, alone on stdout; only its hash is
stored. With --kubernetes-secret it is written to a Secret instead of stdout; a Secret
that already contains a key is not changed.

Permissions by role: a reader resolves, lists and reads tags; a registrar also writes
tags and registers records; an analyst, in addition to a reader, writes tags and runs
analyses; an admin has all permissions, including global records. A key is valid for
its tenants only; requests without tenant_id use its single tenant.`,
		Example: `  cairn key create --tenant acme --role registrar --note "the importer of Ann's team"
  cairn key create --all-tenants --role admin --expires 24h > key`,
		Args: flags.Args("no arguments", 0, 0),
		RunE: k.run,
	}
	f := cmd.Flags()
	f.StringSliceVar(&k.tenants, "tenant", nil, "`TENANT` of the key; comma-separated list for several")
	f.BoolVar(&k.global, "all-tenants", false, "make the key valid for every tenant")
	f.StringVar(&k.role, "role", "", "`ROLE` of the key: reader, registrar, analyst or admin")
	f.StringVar(&k.note, "note", "", "description `TEXT` of the key, shown by key list")
	f.StringVar(&k.secret, "kubernetes-secret", "",
		"`NAME` of an existing Secret in the pod's namespace, to which the key is written as key and id")
	f.StringVar(&k.account, "kubernetes-account", accountDirectory,
		"`DIRECTORY` with token, ca.crt and namespace of a service account with the permissions get and patch on the Secret")
	f.Func("expires", "lifetime `DURATION` of the key, such as 90d or 12h, or never", k.setExpires)
	f.Lookup("expires").DefValue = "90d"
	k.flags(cmd)
	connect.MessageFlag(cmd)
	flags.Text(cmd, &k.output)
	return cmd
}

func (k *keyCreate) run(cmd *cobra.Command, _ []string) error {
	ctx, out, errOut := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	switch {
	case k.role == "":
		return flags.Usage(fmt.Errorf("--role: expected one of %v", schemas.Roles()))
	case k.global == (len(k.tenants) > 0):
		return flags.Usage(errors.New("expected exactly one of --tenant and --all-tenants, which is for operators"))
	case len(k.note) > maxNote || strings.ContainsFunc(k.note, func(r rune) bool { return !unicode.IsPrint(r) }):
		return flags.Usage(fmt.Errorf("--note: expected one line of at most %d bytes", maxNote))
	}
	made := keys.Key{Role: schemas.Role(k.role), Tenants: k.tenants, Note: k.note}
	if k.expires > 0 {
		made.Expires = time.Now().Add(k.expires).UTC().Truncate(time.Second)
	}
	if err := made.Identity().Validate(); err != nil {
		return err
	}
	var target *clusterSecret
	if k.secret != "" {
		k.Timeout = connect.ServerTimeout
		var err error
		if target, err = openClusterSecret(k.account, k.secret, os.Getenv); err != nil {
			return err
		}
		switch exists, err := target.has(ctx, "key"); {
		case err != nil:
			return err
		case exists:
			_, err := fmt.Fprintf(out, "Secret %s already contains a key; no key was created\n", k.secret)
			return err
		}
	}
	return k.withStore(ctx, func(ctx context.Context, s *keys.Store) error {
		made, secret, err := s.Create(ctx, made)
		if err != nil {
			return err
		}
		if target != nil {
			if err := target.set(ctx, map[string]string{"id": made.ID, "key": secret}); err != nil {
				return errors.Join(err, revokeLost(ctx, s, made.ID))
			}
			_, err = fmt.Fprintf(out, "Wrote key %s (role %s, tenants %s, %s) to Secret %s.\n", made.ID, made.Role,
				tenantList(made), expiry(made), k.secret)
			return err
		}
		if k.output != flags.TextFormat {
			return output.Value(out, k.output, map[string]string{"id": made.ID, "key": secret})
		}
		output.Line(out, secret) // alone, so that it can be redirected to a file
		_, err = fmt.Fprintf(errOut, "Key %s: role %s, tenants %s, %s. It is not shown again.\n", made.ID, made.Role,
			tenantList(made), expiry(made))
		return err
	})
}

// revokeLost revokes a key whose secret was not stored, even after ctx has ended. The key would
// otherwise stay valid although no one has it.
func revokeLost(ctx context.Context, s *keys.Store, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	return s.Revoke(ctx, id)
}

func expiry(k keys.Key) string {
	if k.Expires.IsZero() {
		return "no expiry"
	}
	return "expires " + k.Expires.Format(time.DateTime) + " UTC"
}

const maxLifetime = 36_500 * 24 * time.Hour

// setExpires sets the lifetime of the key; 0: it does not expire.
func (k *keyCreate) setExpires(text string) (err error) {
	if k.expires = 0; text == "never" {
		return nil
	}
	if k.expires, err = flags.Duration(text); err != nil || k.expires <= 0 || k.expires > maxLifetime {
		return fmt.Errorf("expected a duration such as 90d or 12h, or never, got %q", text)
	}
	return nil
}
