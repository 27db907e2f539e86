package main

import (
	"context"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

// register sends records to Cairn.
type register struct {
	client
	tenant string
	dry    bool
	json   bool
}

func registerCommand() *cobra.Command {
	r := &register{}
	cmd := &cobra.Command{
		Use:   "register FILE|FOLDER|-…",
		Short: "Register the records of files and folders",
		Long: `Register sends records to Cairn: from JSON files, YAML files (several documents
are fine), JSONL files (a record a line), whole folders of these, or stdin (-).
A file holds one record, a list of them, or one after the other.

A record is written bare, and its kind told by its id: skill_id, agent_id,
tool_id, context_builder_id, guardrail_id or template_id (a skill may name its
template_id). Or it is written as the body of a registration, such as
{"agent_data": {"agent_id": "storage"}, "skill_ids": ["storage.volume_capacity"]}.

A record replaces the one registered before under the same id and tenant; of two
in the same call the later one wins. What a busy server refuses is sent again.
The exit code is 1 when any record was refused.`,
		Example: `  cairn register deploy/examples/knowledge
  cairn register skills.jsonl tools.yaml --tenant acme
  cairn register --dry-run skills.jsonl        # only look for mistakes; needs no server
  jq -c '.skills[]' export.json | cairn register -`,
		Args: wants("files or folders", 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := readAll(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return r.run(cmd.Context(), all, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	r.flag(cmd)
	cmd.Flags().StringVar(&r.tenant, "tenant", "", "`TENANT` of the records that name none; empty: they are global")
	cmd.Flags().BoolVar(&r.dry, "dry-run", false, "check the records and send nothing")
	jsonFlag(cmd, &r.json)
	return cmd
}

func (r *register) run(ctx context.Context, all []found, out, errOut io.Writer) error {
	began := time.Now()
	records := make([]record, len(all))
	for i, f := range all {
		if f.err != nil {
			records[i] = record{Source: f.source, wrong: f.err}
			continue
		}
		records[i] = newRecord(f.source, f.text, r.tenant)
	}
	outcomes, err := r.settle(ctx, records, errOut)
	if err != nil {
		return err
	}
	s := summarize(records, outcomes)
	s.Seconds, s.DryRun = time.Since(began).Seconds(), r.dry
	if r.json {
		err = writeJSON(out, s)
	} else {
		err = s.print(out)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(s.Refused) > 0:
		return errSaid
	}
	return nil
}

// settle sends the records, or only checks them.
func (r *register) settle(ctx context.Context, records []record, errOut io.Writer) ([]outcome, error) {
	if r.dry {
		outcomes := make([]outcome, len(records))
		for i, rec := range records {
			outcomes[i].err = rec.fault()
		}
		return outcomes, nil
	}
	if err := r.reachable(ctx); err != nil {
		return nil, err
	}
	bar := progressbar.NewOptions(len(records),
		progressbar.OptionSetWriter(unescaped(errOut)),
		progressbar.OptionSetVisibility(terminal(errOut)),
		progressbar.OptionSetDescription("registering"),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionClearOnFinish(),
	)
	outcomes := r.sendAll(ctx, records, func() { _ = bar.Add(1) })
	return outcomes, bar.Close()
}

// fault is what is wrong with the record, as far as that is known without a server.
func (r record) fault() error {
	if r.wrong != nil {
		return r.wrong
	}
	return r.check(r.body)
}
