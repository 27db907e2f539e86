package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

// eval measures how well a running Cairn finds skills.
type eval struct {
	client
	tenant     string
	register   bool
	keep       bool
	atOnce     int
	patience   time.Duration
	searchable time.Duration
	json       bool
}

// evalTenant begins the tenants that are registered to be measured.
const evalTenant = "eval-"

func evalCommand() *cobra.Command {
	e := &eval{}
	cmd := &cobra.Command{
		Use:   "eval CORPUS QUERIES",
		Short: "Measure how well skills are found",
		Long: `Eval asks a running Cairn queries whose answers are known, and prints how many of
them it finds, and how fast: by words alone, by vectors alone, and by both, as
searches do. So embedding models can be compared on the queries that matter.

CORPUS is a file or a folder of records, as for register, of which the skills
count. QUERIES is JSONL, a query a line:
{"query": "which volumes are nearly full?", "skill_ids": ["storage.volume_capacity"]}.

The corpus is to be registered already, or --register does it: for a tenant of
its own, which begins with ` + evalTenant + `, and ends with the command unless --keep is given.

recall@k is the share of a query's skills among the first k, all@5 the share of
queries all of whose skills are among the first 5, nDCG@10 also counts the places.

Each query is asked four times. The first time it is embedded, which is told apart;
then by each way, so that their times can be compared. A degraded answer, such as
one for which the embedding model was too busy, is asked for again, by itself.`,
		Example: `  cairn eval skills.jsonl queries.jsonl --register
  cairn eval skills.jsonl queries.jsonl --tenant acme --json | jq .hybrid.all`,
		Args: wants("CORPUS and QUERIES", 2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	e.flag(cmd)
	f := cmd.Flags()
	f.StringVar(&e.tenant, "tenant", "", "`TENANT` who asks; empty: nobody's, or with --register one made up")
	f.BoolVar(&e.register, "register", false, "register the corpus before, and unregister it after")
	f.BoolVar(&e.keep, "keep", false, "leave registered what --register has registered")
	f.IntVar(&e.atOnce, "at-once", 4, "`QUERIES` in flight, at most; more of them make each slower")
	f.DurationVar(&e.patience, "patience", 15*time.Second, "how long degraded answers are asked for again while none gets better")
	f.DurationVar(&e.searchable, "wait", 30*time.Minute, "how long what is registered may take to be searchable")
	jsonFlag(cmd, &e.json)
	return cmd
}

func (e *eval) run(ctx context.Context, files []string, out, errOut io.Writer) (err error) {
	if err := e.settle(); err != nil {
		return err
	}
	corpus, err := e.corpus(files[0])
	if err != nil {
		return err
	}
	queries, err := readJudged(files[1], corpus)
	if err != nil {
		return err
	}
	if err := e.reachable(ctx); err != nil {
		return err
	}
	if e.register {
		if !e.keep {
			defer func() { err = errors.Join(err, e.unregister(context.WithoutCancel(ctx), corpus)) }()
		}
		if err := e.teach(ctx, corpus, errOut); err != nil {
			return err
		}
	}
	shown := progress(errOut, "asking", passes*len(queries))
	began := time.Now()
	r := e.measure(ctx, queries, func() { _ = shown.Add(1) })
	if err := errors.Join(shown.Close(), ctx.Err()); err != nil {
		return err
	}
	r.Corpus, r.Tenant, r.AtOnce = len(corpus), e.tenant, e.atOnce
	if h, err := e.health(ctx); err == nil {
		r.Backends = backendsOf(h, "resolve")
	}
	r.Seconds = time.Since(began).Seconds()
	return e.say(r, out)
}

// settle checks the settings, and chooses the tenant.
func (e *eval) settle() error {
	switch {
	case e.register && e.tenant == "":
		e.tenant = evalTenant + strings.ToLower(rand.Text()[:8])
	case e.register && !strings.HasPrefix(e.tenant, evalTenant):
		return fmt.Errorf("--tenant %s: --register wants one that begins with %s, so that nothing of anyone else is replaced or removed", e.tenant, evalTenant)
	case e.keep && !e.register:
		return errors.New("--keep: nothing is removed without --register")
	}
	if e.atOnce > connections {
		return fmt.Errorf("--at-once: want at most %d, got %d", connections, e.atOnce)
	}
	return atLeast("at-once", e.atOnce, 1)
}

// say prints r. Figures that lack answers are printed, and are a failure.
func (e *eval) say(r evaluation, out io.Writer) error {
	var err error
	if e.json {
		err = writeJSON(out, r)
	} else {
		err = r.print(out)
	}
	for _, row := range r.rows() {
		if err == nil && row.Failed > 0 {
			err = fmt.Errorf("%s: %d of %d queries were not answered, such as: %s", row.name, row.Failed, r.Queries, row.Failure)
		}
	}
	return err
}

// progress shows people how far something is.
func progress(errOut io.Writer, what string, n int) *progressbar.ProgressBar {
	return progressbar.NewOptions(n,
		progressbar.OptionSetWriter(unescaped(errOut)),
		progressbar.OptionSetVisibility(terminal(errOut)),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionClearOnFinish(),
	)
}
