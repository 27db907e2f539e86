package knowledge

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// Values of --dry-run.
const (
	dryNone   = "none"
	dryServer = "server"
	dryClient = "client"
)

// applyOptions are the flags of cairn apply.
type applyOptions struct {
	connection
	prune  bool
	force  bool
	labels string
	dry    string
	strict bool
	output string

	began   time.Time
	unified bool // print the differences
	// check returns an error for a difference that must not be applied; nil: none.
	check func(difference) error
	// stale returns the registered records that --prune deletes.
	stale func(context.Context, *summary) ([]client.Record, error)
}

func applyCommand() *cobra.Command {
	a := &applyOptions{}
	a.stale = a.outsideFiles
	cmd := &cobra.Command{
		Use:   "apply FILE|DIRECTORY|-…",
		Short: "Register records from files and directories",
		Long: `Apply registers the records of JSON, YAML (multiple documents are supported) and JSON
Lines files, of directories of these, or of stdin (-), unless they are registered
already. A file contains one record, a list, or a sequence of records.

The kind of a bare record is derived from its id member: skill_id, agent_id, tool_id,
context_builder_id, guardrail_id or template_id (a skill may also have a template_id).
The body of a registration request is accepted too, such as
{"agent_data": {"agent_id": "storage"}, "skill_ids": ["storage.volume_capacity"]}.

A record replaces the one with the same id and tenant; of duplicates in one call the
last one wins. --prune deletes records that are not in the files: of the kinds and the
tenants that are in the files, and with --labels only those with all of the labels. It
deletes nothing if a record was rejected. If other records link to those that it would
delete, it asks, and needs --force without a terminal and for --dry-run.

--dry-run prints what would change; --dry-run=client only validates the files and needs
no server. Requests that an overloaded server rejects are retried. If records are rejected,
the exit code is that of the first one, such as 2 for an invalid record.`,
		Example: `  cairn apply deploy/examples/knowledge
  cairn apply skills.jsonl tools.yaml --tenant acme
  cairn apply knowledge --prune --labels owner=ci --dry-run
  jq -c '.skills[]' export.json | cairn apply -`,
		Args: flags.Args("files or directories", 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.labels != "" && !a.prune {
				return flags.UsageError(cmd, errors.New("--labels requires --prune"))
			}
			a.began = time.Now()
			list, err := readRecords(args, cmd.InOrStdin(), a.tenant)
			if err != nil {
				return err
			}
			return a.run(cmd, list)
		},
	}
	a.RetryTimeout = records.RetryTimeout
	a.flags(cmd, "default `TENANT` of records without tenant_id")
	f := cmd.Flags()
	f.BoolVar(&a.prune, "prune", false, "delete records that are not in the files")
	f.BoolVar(&a.force, "force", false, "with --prune: also delete records to which others link")
	f.StringVar(&a.labels, "labels", "", "with --prune: delete only records with all of these `LABELS`, such as owner=ci")
	a.strictly(cmd)
	flags.Choice(cmd, &a.dry, "dry-run", "",
		"print what would change: `WHERE` is server, the default, or client to validate the files only",
		dryNone, dryServer, dryClient)
	f.Lookup("dry-run").NoOptDefVal = dryServer
	connect.MessageFlag(cmd)
	flags.Text(cmd, &a.output)
	return cmd
}

func (a *applyOptions) strictly(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.strict, "strict", false,
		"reject records that give warnings, such as references to absent records")
}

func (a *applyOptions) run(cmd *cobra.Command, list []records.Record) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	s := newSummary(list, a.dry)
	if a.dry == dryClient {
		for i, r := range list {
			s.add(i, valid, records.Outcome{Err: r.Validate()})
		}
		s.count()
		return a.finish(ctx, s, out)
	}
	if err := a.Client.Ping(ctx); err != nil {
		return err
	}
	bar := output.NewProgress(cmd.ErrOrStderr(), "applying", len(list))
	defer bar.Close()
	for _, batch := range records.DistinctBatches(list) {
		a.batch(ctx, s, batch, bar)
	}
	s.count()
	var err error
	if a.prune && len(s.Rejected)+s.Unsent == 0 {
		bar.Close() // before a question
		err = a.pruneStale(cmd, s)
	}
	bar.Close()
	s.Retries = a.Client.Retries()
	s.suggest(ctx, a.Client)
	return errors.Join(err, a.finish(ctx, s, out))
}

// batch applies the records at the indexes, unless they are registered already. No two of them
// have the same ID.
func (a *applyOptions) batch(ctx context.Context, s *summary, batch []int, bar *output.Progress) {
	actions := make([]string, len(s.list))
	records.Concurrently(len(batch), func(n int) {
		i := batch[n]
		d, err := compare(ctx, a.Client, s.list[i])
		if err == nil && a.check != nil {
			err = a.check(d)
		}
		actions[i] = d.action
		s.add(i, d.action, records.Outcome{Err: err})
		if a.unified {
			s.differences[i] = d
		}
	})
	changed := slices.DeleteFunc(slices.Clone(batch), func(i int) bool {
		return a.dry == dryServer || actions[i] == unchanged || s.outcomes[i].Err != nil
	})
	bar.Add(len(batch) - len(changed))
	send := func(indexes []int, strict bool) {
		r := records.Registrar{Client: a.Client, Strict: strict}
		r.Send(ctx, s.list, indexes, func(i int, o records.Outcome) { s.add(i, actions[i], o) })
	}
	if a.strict {
		// Those that reference later ones of the files are rejected, although they are registered then.
		send(changed, true)
		early := s.retryable(changed)
		bar.Add(len(changed) - len(early))
		changed = early
	}
	send(changed, false)
	bar.Add(len(changed))
}

// pruneStale deletes the records that are not in the source.
func (a *applyOptions) pruneStale(cmd *cobra.Command, s *summary) error {
	stale, err := a.stale(cmd.Context(), s)
	if err != nil {
		return err
	}
	batch := &deletion{client: a.Client, force: a.force, dry: a.dry != dryNone}
	if batch.dry {
		batch.planned = s.records
	}
	for _, r := range stale {
		batch.keys = append(batch.keys, records.ExactKey(r.Kind, r.ID, r.Tenant))
	}
	if err := batch.permit(cmd); err != nil {
		return err
	}
	for i, r := range stale {
		if !batch.dry {
			_, err := batch.delete(cmd.Context(), i)
			if err != nil && !errors.Is(err, schemas.ErrRecordNotFound) {
				return err
			}
		}
		s.prune(r)
	}
	return nil
}

// outsideFiles returns the records of the kinds and tenants in the files that are not in the
// files.
func (a *applyOptions) outsideFiles(ctx context.Context, s *summary) (stale []client.Record, err error) {
	type scope struct{ tenant, kind string }
	done := map[scope]bool{}
	for _, r := range s.list {
		if done[scope{r.Tenant, r.Kind}] {
			continue
		}
		done[scope{r.Tenant, r.Kind}] = true
		list, err := records.Scope{Tenant: r.Tenant, Kinds: []string{r.Kind}, Labels: a.labels}.List(ctx, a.Client)
		if err != nil {
			return nil, err
		}
		for _, stored := range list {
			if !s.has(stored.Kind, stored.ID, stored.Tenant) {
				stale = append(stale, stored)
			}
		}
	}
	return stale, nil
}

// finish prints the summary and returns the error that determines the exit code.
func (a *applyOptions) finish(ctx context.Context, s *summary, out io.Writer) error {
	s.Seconds = time.Since(a.began).Seconds()
	if a.unified {
		if err := s.printDifferences(out); err != nil {
			return err
		}
	}
	err := output.Result{Value: s, Table: s.write}.Print(out, a.output)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case s.first != nil:
		return output.Reported(s.first)
	}
	return nil
}
