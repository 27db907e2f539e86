// Package eval implements the commands that measure the quality of search and of answers.
package eval

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/schemas"
	"cairn/schemas/member"
)

// evalOptions are the flags of cairn eval.
type evalOptions struct {
	connect.HTTP
	tenant       string
	register     bool
	keep         bool
	concurrency  int
	retryTimeout time.Duration
	searchable   time.Duration
	output       string
	minFlags     map[string]string // lowest accepted metrics of hybrid search, as given
	minimum      map[string]float64
	compare      string // file with an earlier result
}

// maxConcurrency is the maximum number of concurrent searches.
const maxConcurrency = 32

// tenantPrefix is the prefix of the tenants of evaluations.
const tenantPrefix = "eval-"

// Command returns the command cairn eval.
func Command() *cobra.Command {
	e := &evalOptions{}
	cmd := &cobra.Command{
		Use:   "eval CORPUS QUERIES",
		Short: "Measure search quality",
		Long: `Eval runs queries with known relevant skills against a running Cairn and prints
retrieval quality and latency for text, vector and hybrid search, for example to
compare embedding models on your own queries.

CORPUS is a file or directory of records, as for cairn apply, of which only skills are
used. QUERIES is a JSON Lines file, one query per line:
{"query": "which volumes are nearly full?", "skill_ids": ["storage.volume_capacity"]}.

The corpus must be registered, or --register registers it under a temporary tenant
` + tenantPrefix + `… and deletes it afterwards unless --keep is set.

recall@k is the fraction of a query's relevant skills among the first k results, all@5
the fraction of queries with all relevant skills among the first 5, and nDCG@10 the
normalized discounted cumulative gain of the first 10. Each is printed with its 95 %
confidence interval. With --min the exit code is 1 if hybrid search is worse.
--compare prints the differences from an earlier result of the same queries, for
example without the queries of cairn expand or with another embedding model.

Each query runs four times: a first hybrid search, which includes its embedding and is
reported separately, and then one search by each method, with comparable latencies.
Degraded answers, for example while the embedding model is overloaded, are retried one
at a time.`,
		Example: `  cairn eval skills.jsonl queries.jsonl --register
  cairn eval skills.jsonl queries.jsonl --tenant acme -o json | jq .hybrid.all
  cairn eval skills.jsonl queries.jsonl --register --min recall@5=0.75,ndcg@10=0.65
  cairn eval skills.jsonl queries.jsonl --tenant acme --compare before.json`,
		Args: flags.Args("CORPUS and QUERIES", 2, 2),
		RunE: e.run,
	}
	e.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&e.tenant, "tenant", "",
		"`TENANT` of the searches; empty: global scope, or with --register a generated tenant")
	f.BoolVar(&e.register, "register", false, "register the corpus before the evaluation and delete it afterwards")
	f.BoolVar(&e.keep, "keep", false, "keep the corpus registered by --register")
	f.IntVar(&e.concurrency, "at-once", 4, "maximum number of `QUERIES` in flight")
	f.DurationVar(&e.retryTimeout, "retry-timeout", 15*time.Second,
		"timeout of retries of degraded answers, restarted by each success")
	f.DurationVar(&e.searchable, "wait", 30*time.Minute, "timeout until the registered corpus is searchable")
	f.StringToStringVar(&e.minFlags, "min", nil,
		"lowest accepted `METRIC=VALUE` of hybrid search, comma-separated list for several; the exit code is 1 below it")
	f.StringVar(&e.compare, "compare", "", "`FILE` with the result of an earlier run in JSON")
	flags.Text(cmd, &e.output)
	cmd.AddCommand(answersCommand())
	return cmd
}

func (e *evalOptions) run(cmd *cobra.Command, files []string) (err error) {
	ctx, errOut := cmd.Context(), cmd.ErrOrStderr()
	if err := e.prepare(); err != nil {
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
	before, err := e.earlier(len(queries))
	if err != nil {
		return err
	}
	if err := e.Client.Ping(ctx); err != nil {
		return err
	}
	if e.register {
		if !e.keep {
			defer func() { err = errors.Join(err, records.Delete(context.WithoutCancel(ctx), e.Client, corpus, e.tenant)) }()
		}
		r := records.Registrar{Client: e.Client, ErrOut: errOut}
		if err := r.RegisterSearchable(ctx, corpus, e.searchable); err != nil {
			return err
		}
	}
	unretried, err := e.NewClient(-1) // a retry would count as latency
	if err != nil {
		return err
	}
	shown := output.NewProgress(errOut, "searching", queryPasses*len(queries))
	began := time.Now()
	s := searcher{unretried, e.tenant, e.concurrency, e.retryTimeout}
	r := s.measure(ctx, queries, func() { shown.Add(1) })
	shown.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	r.Corpus, r.Tenant, r.AtOnce = len(corpus), e.tenant, e.concurrency
	if h, err := e.Client.Health(ctx); err == nil {
		r.Backends = connect.Backends(h, "resolve")
	}
	r.Seconds = time.Since(began).Seconds()
	if before != nil {
		r.Difference = before.differences(r)
	}
	return e.report(r, cmd.OutOrStdout())
}

// earlier reads the result of --compare, nil without one. It must have the given number of queries.
func (e *evalOptions) earlier(queries int) (*evaluation, error) {
	if e.compare == "" {
		return nil, nil
	}
	data, err := os.ReadFile(e.compare)
	if err != nil {
		return nil, err
	}
	var before evaluation
	if err := json.Unmarshal(data, &before); err != nil || before.Queries == 0 {
		return nil, flags.Usage(fmt.Errorf("--compare %s: expected the JSON of an earlier cairn eval -o json", e.compare))
	}
	if before.Queries != queries {
		return nil, flags.Usage(fmt.Errorf("--compare %s: expected a result of the same %d queries, got one of %d", e.compare,
			queries, before.Queries))
	}
	return &before, nil
}

// prepare validates the settings and chooses the tenant.
func (e *evalOptions) prepare() error {
	switch {
	case e.register && e.tenant == "":
		e.tenant = tenantPrefix + strings.ToLower(rand.Text()[:8])
	case e.register && !strings.HasPrefix(e.tenant, tenantPrefix):
		return flags.Usage(fmt.Errorf(
			"--tenant %s: with --register the tenant must begin with %s, so that existing records are not replaced or removed",
			e.tenant, tenantPrefix))
	case e.keep && !e.register:
		return flags.Usage(errors.New("--keep requires --register"))
	}
	var err error
	if e.minimum, err = minimums(e.minFlags); err != nil {
		return err
	}
	return cmp.Or(flags.AtLeast("at-once", e.concurrency, 1), flags.AtMost("at-once", e.concurrency, maxConcurrency))
}

// minimums parses the values of --min.
func minimums(given map[string]string) (map[string]float64, error) {
	limits := map[string]float64{}
	for name, value := range given {
		minimum, err := strconv.ParseFloat(value, 64)
		if !slices.Contains(metricNames, name) || err != nil || !(minimum >= 0 && minimum <= 1) {
			return nil, flags.Usage(fmt.Errorf("--min %s=%s: expected one of %s, and a value from 0 to 1", name, value,
				strings.Join(metricNames, ", ")))
		}
		limits[name] = minimum
	}
	return limits, nil
}

// corpus reads the skills of a file or directory and assigns them to the tenant.
func (e *evalOptions) corpus(file string) ([]records.Record, error) {
	parsed, err := records.ReadAll([]string{file}, nil)
	if err != nil {
		return nil, flags.Usage(err)
	}
	var list []records.Record
	for _, f := range parsed {
		if text, err := member.Without(f.Text, "tenant_id"); err == nil { // any other text is rejected as a record
			f.Text = text
		}
		r := f.Record(e.tenant)
		if err := r.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Source, err)
		}
		if r.Kind == schemas.KindSkill {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, flags.Usage(fmt.Errorf("%s: contains no skills", file))
	}
	return list, nil
}

// report prints r. It returns an error if queries failed or a metric is below its minimum.
func (e *evalOptions) report(r evaluation, out io.Writer) error {
	err := output.Result{Value: r, Table: r.write}.Print(out, e.output)
	for _, row := range r.rows() {
		if err == nil && row.Failed > 0 {
			err = fmt.Errorf("%s: %d of %d queries failed, for example: %s", row.name, row.Failed, r.Queries, row.Failure)
		}
	}
	if err != nil {
		return err
	}
	for i, got := range r.Hybrid.All.each() {
		if minimum, ok := e.minimum[metricNames[i]]; ok && *got < minimum {
			return fmt.Errorf("hybrid: %s is %.4f, below the minimum of %v", metricNames[i], *got, minimum)
		}
	}
	return nil
}
