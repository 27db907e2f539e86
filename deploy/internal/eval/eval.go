// Package eval has the command that measures search quality.
package eval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/client"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// eval measures how well a running Cairn finds skills.
type eval struct {
	client.HTTP
	tenant       string
	register     bool
	keep         bool
	atOnce       int
	retryTimeout time.Duration
	searchable   time.Duration
	json         bool
}

// maxAtOnce is the maximum number of concurrent searches.
const maxAtOnce = 32

// tenantPrefix is the prefix of the tenants of evaluations.
const tenantPrefix = "eval-"

// Command returns the command cairn eval.
func Command() *cobra.Command {
	e := &eval{}
	cmd := &cobra.Command{
		Use:   "eval CORPUS QUERIES",
		Short: "Measure search quality",
		Long: `Eval runs queries with known relevant skills against a running Cairn and prints
retrieval quality and latency for text, vector and hybrid search, for example to
compare embedding models on your own queries.

CORPUS is a file or directory of records, as for register, of which only skills are
used. QUERIES is a JSON Lines file, one query per line:
{"query": "which volumes are nearly full?", "skill_ids": ["storage.volume_capacity"]}.

The corpus must be registered, or --register registers it under a temporary tenant
` + tenantPrefix + `… and removes it afterwards unless --keep is set.

recall@k is the fraction of a query's relevant skills among the first k results, all@5
the fraction of queries with all relevant skills among the first 5, and nDCG@10 the
normalized discounted cumulative gain of the first 10.

Each query runs four times: a first hybrid search, which includes its embedding and is
reported separately, and then one search by each method, with comparable latencies.
Degraded answers, for example while the embedding model is overloaded, are retried one
at a time.`,
		Example: `  cairn eval skills.jsonl queries.jsonl --register
  cairn eval skills.jsonl queries.jsonl --tenant acme --json | jq .hybrid.all`,
		Args: flags.Args("CORPUS and QUERIES", 2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	e.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&e.tenant, "tenant", "", "`TENANT` of the searches; empty: global scope, or with --register a generated tenant")
	f.BoolVar(&e.register, "register", false, "register the corpus before the evaluation and unregister it afterwards")
	f.BoolVar(&e.keep, "keep", false, "keep the corpus registered by --register")
	f.IntVar(&e.atOnce, "at-once", 4, "maximum number of `QUERIES` in flight")
	f.DurationVar(&e.retryTimeout, "retry-timeout", 15*time.Second, "timeout of retries of degraded answers, restarted by each success")
	f.DurationVar(&e.searchable, "wait", 30*time.Minute, "timeout until the registered corpus is searchable")
	flags.JSON(cmd, &e.json)
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
	if err := e.Reachable(ctx); err != nil {
		return err
	}
	if e.register {
		if !e.keep {
			defer func() { err = errors.Join(err, e.unregister(context.WithoutCancel(ctx), corpus)) }()
		}
		if err := records.RegisterSearchable(ctx, &e.HTTP, corpus, e.searchable, errOut); err != nil {
			return err
		}
	}
	shown := output.Progress(errOut, "searching", passes*len(queries))
	began := time.Now()
	s := searcher{e.HTTP, e.tenant, e.atOnce, e.retryTimeout}
	r := s.measure(ctx, queries, func() { _ = shown.Add(1) })
	if err := errors.Join(shown.Close(), ctx.Err()); err != nil {
		return err
	}
	r.Corpus, r.Tenant, r.AtOnce = len(corpus), e.tenant, e.atOnce
	if h, err := e.Health(ctx); err == nil {
		r.Backends = client.Backends(h, "resolve")
	}
	r.Seconds = time.Since(began).Seconds()
	return e.say(r, out)
}

// settle validates the settings and chooses the tenant.
func (e *eval) settle() error {
	switch {
	case e.register && e.tenant == "":
		e.tenant = tenantPrefix + strings.ToLower(rand.Text()[:8])
	case e.register && !strings.HasPrefix(e.tenant, tenantPrefix):
		return fmt.Errorf("--tenant %s: with --register the tenant must begin with %s, so that existing records are not replaced or removed",
			e.tenant, tenantPrefix)
	case e.keep && !e.register:
		return errors.New("--keep requires --register")
	}
	if e.atOnce > maxAtOnce {
		return fmt.Errorf("--at-once: want at most %d, got %d", maxAtOnce, e.atOnce)
	}
	return flags.AtLeast("at-once", e.atOnce, 1)
}

// corpus reads the skills of a file or folder and assigns them to the tenant.
func (e *eval) corpus(file string) ([]records.Record, error) {
	all, err := records.ReadAll([]string{file}, nil)
	if err != nil {
		return nil, err
	}
	var list []records.Record
	for _, f := range all {
		f.Text = foreign(f.Text)
		r := f.Record(e.tenant)
		if err := r.Fault(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Source, err)
		}
		if r.Kind == schemas.KindSkill {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: contains no skills", file)
	}
	return list, nil
}

// foreign returns the record without its tenant.
func foreign(text jsontext.Value) jsontext.Value {
	var o map[string]jsontext.Value
	if json.Unmarshal(text, &o) != nil || o["tenant_id"] == nil {
		return text // rejected as a record
	}
	delete(o, "tenant_id")
	text, _ = json.Marshal(o, json.Deterministic(true)) // cannot fail: o was unmarshaled from JSON
	return text
}

// unregister removes the corpus, including skills whose registration failed.
func (e *eval) unregister(ctx context.Context, corpus []records.Record) error {
	left, err := records.Remove(ctx, &e.HTTP, corpus, e.tenant)
	if err != nil {
		return fmt.Errorf("%d skills of tenant %s could not be removed: %w", left, e.tenant, err)
	}
	return nil
}

// say prints r. It returns an error if queries failed.
func (e *eval) say(r evaluation, out io.Writer) error {
	var err error
	if e.json {
		err = output.JSON(out, r)
	} else {
		err = r.print(out)
	}
	for _, row := range r.rows() {
		if err == nil && row.Failed > 0 {
			err = fmt.Errorf("%s: %d of %d queries failed, for example: %s", row.name, row.Failed, r.Queries, row.Failure)
		}
	}
	return err
}
