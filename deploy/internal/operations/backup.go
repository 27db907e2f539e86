package operations

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"cairn/bus/backup"
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
)

// backupCommands writes and restores backups.
type backupCommands struct {
	connect.NATS
	keys     connect.SecondUser
	replicas int
	output   string
	merge    merging
}

func backupCommand() *cobra.Command {
	k := &backupCommands{}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of records, tags, API keys and the audit log",
		Long: `Backup writes the catalog of records, the quarantined records, the tags, the hashes of the
API keys and the audit log to a new FILE while Cairn is running. The catalog is a consistent
snapshot: it contains every registration up to one revision. Analyses and cached
vectors are not included: they expire or can be recomputed.

The file is gzip-compressed JSON Lines with a checksum.`,
		Example: `  cairn backup cairn.backup --nats nats://nats:4222
  zcat cairn.backup | jq -c 'select(.bucket == "cairn_catalog") | .value'`,
		Args: flags.Args("one FILE", 1, 1),
		RunE: k.save,
	}
	k.NATS.Flags(cmd.Flags())
	k.keys.KeysFlags(cmd.Flags())
	flags.Text(cmd, &k.output)
	return cmd
}

func restoreCommand() *cobra.Command {
	k := &backupCommands{}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup",
		Long: `Restore writes the contents of a backup FILE to a NATS server without records, API
keys and quarantined records. It validates the whole file first and changes nothing if
the file is corrupt, truncated, not a backup, or of a newer format.

Records keep their order and receive new revisions, larger than all in the backup.
Tags that have expired since the backup are omitted.
Workers may run during the restore: they update their indexes.

--merge restores the records of a tenant, or without --tenant the global ones, with their
aliases into a running system over the HTTP API. It does not change records that are not in
the backup, nor tags and keys. Begin with --dry-run. The key needs the permission to
register records; records that someone else changes meanwhile are not replaced.`,
		Example: `  cairn restore cairn.backup --nats nats://nats:4222 --replicas 3
  cairn restore cairn.backup --merge --tenant acme --dry-run
  cairn restore cairn.backup --merge --tenant acme --record skill/storage.volume_capacity`,
		Args: flags.Args("one FILE", 1, 1),
		RunE: k.restore,
	}
	k.NATS.Flags(cmd.Flags())
	k.keys.KeysFlags(cmd.Flags())
	connect.MessageFlag(cmd)
	cmd.Flags().IntVar(&k.replicas, "replicas", 0,
		"number of JetStream replicas (NATS `SERVERS`) of restored buckets; 0: as existing buckets, else as in the backup, limited by the number of servers")
	k.merge.flags(cmd)
	flags.Text(cmd, &k.output)
	return cmd
}

// save writes a backup. It removes an incomplete file.
func (k *backupCommands) save(cmd *cobra.Command, args []string) error {
	ctx, name := cmd.Context(), args[0]
	conn, keys, err := k.ConnectBoth(ctx, "cairn-backup", k.keys)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer keys.Close()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // it contains hashes of keys
	if err != nil {
		return err
	}
	bar := output.NewProgress(cmd.ErrOrStderr(), "saving", -1)
	defer bar.Close()
	s, err := backup.Save(ctx, conn, keys, f, bar.Reach)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	bar.Close()
	return k.print(cmd.OutOrStdout(), "saved", s)
}

func (k *backupCommands) restore(cmd *cobra.Command, args []string) error {
	ctx, name := cmd.Context(), args[0]
	if err := errors.Join(flags.AtLeast("replicas", k.replicas, 0), k.merge.check(cmd)); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	bar := output.NewProgress(cmd.ErrOrStderr(), "checking and restoring", -1)
	defer bar.Close()
	checked, err := backup.Check(f)
	if err != nil {
		return flags.Usage(fmt.Errorf("%s: %w", name, err)) // before connecting to a server
	}
	if k.merge.wanted {
		bar.Close()
		return k.merge.run(cmd, checked)
	}
	conn, keys, err := k.ConnectBoth(ctx, "cairn-restore", k.keys)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer keys.Close()
	if err := checked.Restore(ctx, conn, keys, k.replicas); err != nil {
		return err
	}
	bar.Close()
	return k.print(cmd.OutOrStdout(), "restored", checked.Summary)
}

// print prints a summary.
func (k *backupCommands) print(out io.Writer, verb string, s backup.Summary) error {
	return output.Result{Value: s, Table: func(t *output.Table) {
		t.Row(fmt.Sprintf("%s, up to revision %d of %s", verb, s.Revision, s.Created.Format("2006-01-02 15:04:05 MST")))
		for _, b := range s.Buckets {
			t.Row("  "+b.Name, fmt.Sprint(s.Entries[b.Name]))
		}
	}}.Print(out, k.output)
}
