package knowledge

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// rollbackOptions are the flags of cairn rollback.
type rollbackOptions struct {
	connection
	to string
}

func rollbackCommand() *cobra.Command {
	r := &rollbackOptions{}
	cmd := &cobra.Command{
		Use:   "rollback KIND ID|KIND/ID",
		Short: "Register an earlier revision of a record again",
		Long: `Rollback registers the revision before the newest one again, or the one that --to names. A
deleted record is registered as it was. The record is only replaced if no one else has
changed it in the meantime; otherwise the exit code is 4. A second rollback returns to the
revision before the first one.`,
		Example: `  cairn rollback skill storage.volume_capacity --tenant acme
  cairn rollback skill/storage.volume_capacity --to 1.2.0 --tenant acme
  cairn rollback skill/storage.volume_capacity --to production --tenant acme`,
		Args:              flags.Args("KIND ID or KIND/ID", 1, 2),
		ValidArgsFunction: r.complete,
		RunE:              r.run,
	}
	r.flags(cmd, "`TENANT` of the record; empty: global scope")
	connect.MessageFlag(cmd)
	cmd.Flags().StringVar(&r.to, "to", "",
		"`VERSION`, alias or revision of the history; by default the revision before the newest one")
	return cmd
}

func (r *rollbackOptions) run(cmd *cobra.Command, args []string) error {
	key, err := r.exactKey(cmd, args)
	if err == nil && r.to == "" && cmd.Flags().Changed("to") {
		err = flags.UsageError(cmd, errors.New("--to: expected a version, an alias or a revision"))
	}
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	history, err := r.Client.History(ctx, key)
	if err != nil {
		return err
	}
	target, err := r.target(ctx, key, history)
	if err != nil {
		return err
	}
	put := schemas.PutRecord{Kind: key.Kind, ID: key.ID, TenantID: key.TenantID, Record: target.JSON}
	stored, err := r.Client.Put(ctx, put, unlessChanged(history[0]))
	if err != nil {
		return err
	}
	line := fmt.Sprintf("registered revision %s of %s again, as revision %s", target.Token, name(key.Kind, key.ID),
		stored.Token)
	if stored.Unchanged {
		line = fmt.Sprintf("unchanged: %s equals revision %s", name(key.Kind, key.ID), target.Token)
	}
	output.Line(cmd.OutOrStdout(), line)
	return nil
}

// unlessChanged permits a write if the revision is the newest one.
func unlessChanged(newest schemas.RecordRevision) schemas.Precondition {
	if newest.Removed {
		return schemas.Precondition{IfNoneMatch: "*"}
	}
	token, _ := schemas.ParseConsistencyToken(newest.Revision) // of a response
	return schemas.Precondition{IfMatch: schemas.ETag(token)}
}

// target returns the revision that --to selects.
func (r *rollbackOptions) target(ctx context.Context, key schemas.RecordKey,
	history []schemas.RecordRevision) (client.Record, error) {
	version := schemas.ValidVersion(r.to)
	switch {
	case schemas.ValidAlias(r.to):
		key.ID += "@" + r.to
		return r.Client.Get(ctx, key)
	case r.to != "" && !version:
		return r.Client.GetRevision(ctx, schemas.RecordAt{RecordKey: key, Revision: r.to})
	}
	for i, revision := range history {
		if !revision.Removed && (version && revision.Version == r.to || !version && i > 0) {
			return r.Client.GetRevision(ctx, schemas.RecordAt{RecordKey: key, Revision: revision.Revision})
		}
	}
	missing := "revision before the newest one"
	if version {
		missing = "version " + r.to
	}
	return client.Record{}, schemas.ErrRecordNotFound.Because(
		fmt.Sprintf("the history of %s %q has no %s", key.Kind, key.ID, missing))
}
