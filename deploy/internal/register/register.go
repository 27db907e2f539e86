// Package register has the command that registers records from files.
package register

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/client"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
)

// register sends records to Cairn.
type register struct {
	client.HTTP
	tenant string
	dry    bool
	json   bool
}

// Command returns the command cairn register.
func Command() *cobra.Command {
	r := &register{}
	cmd := &cobra.Command{
		Use:   "register FILE|DIRECTORY|-…",
		Short: "Register records from files and directories",
		Long: `Register sends records to Cairn from JSON, YAML (multiple documents are supported) and
JSON Lines files, from directories of these, or from stdin (-). A file contains one
record, a list, or a sequence of records.

The kind of a bare record is derived from its id member: skill_id, agent_id, tool_id,
context_builder_id, guardrail_id or template_id (a skill may also have a template_id).
The body of a registration request is accepted too, such as
{"agent_data": {"agent_id": "storage"}, "skill_ids": ["storage.volume_capacity"]}.

A record replaces the one with the same id and tenant; of duplicates in one call the
last one wins. Requests that an overloaded server rejects are retried. The exit code is
1 if any record was rejected.`,
		Example: `  cairn register deploy/examples/knowledge
  cairn register skills.jsonl tools.yaml --tenant acme
  cairn register --dry-run skills.jsonl        # validate only; needs no server
  jq -c '.skills[]' export.json | cairn register -`,
		Args: flags.Args("files or directories", 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := records.ReadAll(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return r.run(cmd.Context(), all, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	r.Flags(cmd)
	cmd.Flags().StringVar(&r.tenant, "tenant", "", "default `TENANT` of records without tenant_id; empty: global scope")
	cmd.Flags().BoolVar(&r.dry, "dry-run", false, "validate the records without sending them")
	flags.JSON(cmd, &r.json)
	return cmd
}

func (r *register) run(ctx context.Context, all []records.Found, out, errOut io.Writer) error {
	began := time.Now()
	list := make([]records.Record, len(all))
	for i, f := range all {
		list[i] = f.Record(r.tenant)
	}
	outcomes, err := r.settle(ctx, list, errOut)
	if err != nil {
		return err
	}
	s := summarize(list, outcomes)
	s.Seconds, s.DryRun = time.Since(began).Seconds(), r.dry
	if r.json {
		err = output.JSON(out, s)
	} else {
		err = s.print(out)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(s.Refused) > 0:
		return output.ErrReported
	}
	return nil
}

// settle sends the records, or only validates them with --dry-run.
func (r *register) settle(ctx context.Context, list []records.Record, errOut io.Writer) ([]records.Outcome, error) {
	if !r.dry {
		return records.Register(ctx, &r.HTTP, list, errOut)
	}
	outcomes := make([]records.Outcome, len(list))
	for i, rec := range list {
		outcomes[i].Err = rec.Fault()
	}
	return outcomes, nil
}
