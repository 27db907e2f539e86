package main

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

	"cairn/bus"
	"cairn/deploy/load"
)

// bench puts load on a running Cairn.
type bench struct {
	client
	rate        string
	plan        load.Plan
	bounds      load.Bounds
	tenant      string
	skills      int
	compare     bool
	jsonFile    string
	htmlFile    string
	files       [2]*os.File // of these, once they are open; nil: none
	operation   string
	out, errOut io.Writer
}

// benchTenant begins the tenants under which load is put.
const benchTenant = "bench-"

// highestRate is the --rate that is to be found.
const highestRate = "max"

// leastRate and mostRate are a second; when less is due, no clock tells.
const leastRate, mostRate = 0.001, 1e6

const benchLong = `Bench sends requests to a running Cairn by a schedule, whether or not it keeps up,
and prints how many were answered, and how fast. Latency is counted from when a
request was due, so waiting behind a stall counts in full.

OPERATION is one of
  tags      write a tag, or read one of those written last
  by-id     a skill with all that serves it
  search    skills for a question
  register  replace a skill
  analyze   a short question about a small estate, as a stream: its first event
            and the whole, over several connections where the first are cut off;
            with a language model, that is what is measured
  mix       40% tags, 25% by-id, 20% search, 10% register, 5% analyze; the default

The records for it are registered before, under a tenant of its own that begins
with ` + benchTenant + `, and removed after; the tags that it writes end by themselves
within two minutes. Ctrl-C ends it early: it prints what there is, and removes.
Where callers are known by keys, --key wants one of an admin for all tenants.

--rate max finds the highest rate that Cairn bears: at which 99% of the requests
of each operation take at most --max-p99, and at most --max-errors fail. It tries
rates for --step each, and measures the highest for as long as --for says.

It ends with code 1 when more than --max-errors of the requests of an operation
failed, at whatever rate; in a short run one may be more than that. Failed is all
that was not answered as it should be, refusals too. --max-errors 1 takes any.

--compare prints two files of --json side by side, of the same operations, rate,
connections and records; others it refuses. What is marked better or worse differs
by more than 5%, and by more than each varied within itself; what differs from one
run to the next, it cannot know. The rates of --rate max are compared as found;
where they differ, they alone are judged. It ends with code 1 when something is
worse, or cannot be compared, so that a pipeline can go by it.`

func benchCommand() *cobra.Command {
	b := &bench{}
	cmd := &cobra.Command{
		Use:   "bench [OPERATION]",
		Short: "Put load on Cairn, and measure how it bears it",
		Long:  benchLong,
		Example: `  cairn bench --rate 200 --for 60s
  cairn bench search --rate max --html search.html
  cairn bench --rate 200 --json before.json    # and later after.json
  cairn bench --compare before.json after.json`,
		Args: wants("an OPERATION, or with --compare two files", 0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.out, b.errOut = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if b.compare {
				return b.sideBySide(cmd, args)
			}
			if err := b.settle(args); err != nil {
				return misused(cmd, err)
			}
			return b.run(cmd.Context())
		},
	}
	b.flag(cmd)
	f := cmd.Flags()
	f.StringVar(&b.rate, "rate", "100", "`REQUESTS` a second, or max: the most that it bears")
	f.DurationVar(&b.plan.For, "for", time.Minute, "how long it is measured")
	f.DurationVar(&b.plan.Warm, "warm", 5*time.Second, "how long load is put before it is measured")
	f.IntVar(&b.plan.Connections, "connections", 64, "requests in flight, at most; more are sent late, which counts")
	f.DurationVar(&b.bounds.P99, "max-p99", 100*time.Millisecond, "latency that 99% of the requests may take, for --rate max")
	f.Float64Var(&b.bounds.Errors, "max-errors", 0.001, "share of an operation's requests that may fail; it ends with code 1 past that")
	f.DurationVar(&b.bounds.Step, "step", 5*time.Second, "how long each rate is tried, for --rate max")
	f.IntVar(&b.skills, "skills", 200, "skills that are registered for it")
	f.BoolVar(&b.compare, "compare", false, "print two files of --json side by side")
	f.StringVar(&b.jsonFile, "json", "", "`FILE` to write all figures to, with the histograms")
	f.StringVar(&b.htmlFile, "html", "", "`FILE` to write a report with plots to")
	cmd.AddCommand(benchFaultsCommand())
	return cmd
}

// settle checks the settings.
func (b *bench) settle(args []string) error {
	b.operation = "mix"
	if len(args) > 1 {
		return errors.New("want one OPERATION")
	}
	if len(args) == 1 {
		b.operation = args[0]
	}
	if benchShares[b.operation] == nil {
		return fmt.Errorf("want an OPERATION of tags, by-id, search, register, analyze, mix; got %q", b.operation)
	}
	if b.rate != highestRate {
		rate, err := strconv.ParseFloat(b.rate, 64)
		if err != nil || !(rate >= leastRate && rate <= mostRate) { // NaN is no rate
			return fmt.Errorf("--rate: want requests a second, %g to %.0f, or %s; got %q", leastRate, mostRate, highestRate, b.rate)
		}
		b.plan.Rate = rate
	}
	if b.plan.For <= 0 || b.bounds.Step <= 0 || b.bounds.P99 <= 0 || b.plan.Warm < 0 {
		return errors.New("--for, --step, --max-p99: want more than 0; --warm: 0 or more")
	}
	if !(b.bounds.Errors >= 0 && b.bounds.Errors <= 1) {
		return fmt.Errorf("--max-errors: want a share of 0 to 1, got %g", b.bounds.Errors)
	}
	if b.plan.Connections > registrations {
		return fmt.Errorf("--connections: want at most %d, got %d", registrations, b.plan.Connections)
	}
	b.plan.Grace = answerTime
	b.tenant = benchTenant + strings.ToLower(rand.Text()[:8])
	return errors.Join(atLeast("connections", b.plan.Connections, 1), atLeast("skills", b.skills, 1))
}

// run puts the load. An interruption ends the measurement, not what follows it.
func (b *bench) run(ctx context.Context) (err error) {
	h, err := b.health(ctx)
	if err != nil {
		return err
	}
	if err := b.openFiles(); err != nil {
		return err
	}
	records, err := benchRecords(b.tenant, b.skills)
	if err != nil {
		return err
	}
	env := load.Here()
	env.URL, env.Version, env.Client, env.Backends = b.url, h.Version, bus.Version, backendsOf(h, "resolve", "analyze")
	e := eval{client: b.client, tenant: b.tenant, searchable: answerTime}
	defer func() { err = errors.Join(err, b.unregister(context.WithoutCancel(ctx), records)) }()
	if err := e.teach(ctx, records, b.errOut); err != nil {
		return err
	}
	r, err := b.measure(ctx)
	if err != nil {
		return err
	}
	r.Name, r.Environment, r.Records = b.operation, env, len(records)
	r.Notes = b.notes(r, len(records))
	if err := b.say(r); err != nil {
		return err
	}
	return cmp.Or(ctx.Err(), b.borne(r))
}

// borne is an error when more failed than may: of the operation with most.
func (b *bench) borne(r *load.Result) error {
	worst := slices.MaxFunc(r.Operations, func(a, b *load.Measured) int { return cmp.Compare(a.FailedShare(), b.FailedShare()) })
	if worst.FailedShare() <= b.bounds.Errors {
		return nil
	}
	return fmt.Errorf("%d of the %d requests of %s failed; --max-errors %g lets %.3g", worst.Failed(), worst.Count, worst.Operation, b.bounds.Errors, b.bounds.Errors*float64(worst.Count))
}

// measure puts the load as --rate says.
func (b *bench) measure(ctx context.Context) (*load.Result, error) {
	asker, err := newAsker(b.client, b.tenant, b.skills)
	if err != nil {
		return nil, err
	}
	b.plan.Operations = asker.operations(b.operation)
	if b.rate != highestRate {
		return b.plan.Run(ctx), nil
	}
	return b.plan.Highest(ctx, b.bounds, func(s load.Step) {
		verdict := "held"
		if !s.Held {
			verdict = "too much"
		}
		_, _ = fmt.Fprintf(b.errOut, "%.0f/s: p99 %s ms, errors %.2g%%: %s\n", s.Rate, short3(s.P99), 100*s.Errors, verdict) // it only shows how far it is
	}), nil
}

// say prints r, and writes the files that were asked for.
func (b *bench) say(r *load.Result) error {
	return errors.Join(printLoad(b.out, r),
		written(b.files[0], func(w io.Writer) error { return writeJSON(w, r) }),
		written(b.files[1], r.WriteHTML))
}

// openFiles opens the files to write to; what is in them stays for now. It says
// before the load is put that a file cannot be written.
func (b *bench) openFiles() error {
	for i, name := range []string{b.jsonFile, b.htmlFile} {
		if name == "" {
			continue
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		b.files[i] = f
	}
	return nil
}

// written puts what write writes in the place of what is in f; nil: nowhere.
func written(f *os.File, write func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() { // a pipe has nothing to cut off
		err = f.Truncate(0)
	}
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// sideBySide prints the differences of two results.
func (b *bench) sideBySide(cmd *cobra.Command, files []string) error {
	if len(files) != 2 {
		return misused(cmd, fmt.Errorf("--compare: want two files, got %d", len(files)))
	}
	var results [2]*load.Result
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var r load.Result
		if err := json.Unmarshal(text, &r); err != nil || r.Format != load.Format {
			return fmt.Errorf("%s: not a result of format %d, as cairn bench --json writes it", file, load.Format)
		}
		results[i] = &r
	}
	worse, err := printCompared(b.out, files, results[0], results[1])
	if err == nil && worse > 0 {
		err = fmt.Errorf("%d figures are worse", worse)
	}
	return err
}
