// Package bench implements the command that measures throughput and latency under load.
package bench

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
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/deploy/load"
	"cairn/edge/client"
	"cairn/schemas"
)

// bench generates load on a running Cairn.
type bench struct {
	connect.HTTP
	rate        string
	plan        load.Plan
	bounds      load.Bounds
	tenant      string
	skills      int
	jsonFile    string
	file        *os.File // open jsonFile; nil: not requested
	operation   string
	out, errOut io.Writer
}

// tenantPrefix is the prefix of the tenants of load tests.
const tenantPrefix = "bench-"

// searchRate is the value of --rate that searches for the highest sustained rate.
const searchRate = "max"

// minRate and maxRate bound --rate, in requests per second.
const minRate, maxRate = 0.001, 1e6

const longHelp = `Bench is an open-loop load generator: it sends requests to a running Cairn on a fixed
schedule and prints throughput and latency. Latency is measured from the scheduled time
of a request, which avoids coordinated omission.

OPERATION is one of
  tags      write a tag, or read a recent one
  by-id     resolve the package of a skill
  search    search for skills
  register  replace a skill
  analyze   a short question about a small estate: time to the first event and
            to the end of the stream, including reconnects; with a language
            model, its latency dominates
  mix       40% tags, 25% by-id, 20% search, 10% register, 5% analyze; the default

Bench registers its records under a separate tenant, ` + tenantPrefix + `…, and removes them
afterwards; its tags expire within two minutes. Ctrl-C ends the measurement early,
prints the results so far, and removes the records. With --auth keys, --key must be a
key of an admin for all tenants.

--rate max searches for the highest rate at which the 99th percentile of every
operation is at most --max-p99 and its error rate at most --max-errors. It tries each
rate for --step, and measures the highest one for the duration of --for.

The exit code is 1 if the error rate of an operation exceeds --max-errors. Every
unsuccessful response is an error, including rejections by load shedding.
--max-errors 1 disables the check.`

// Command returns the command cairn bench.
func Command() *cobra.Command {
	b := &bench{}
	cmd := &cobra.Command{
		Use:   "bench [OPERATION]",
		Short: "Measure throughput and latency under load",
		Long:  longHelp,
		Example: `  cairn bench --rate 200 --for 60s
  cairn bench search --rate max
  cairn bench --rate 200 --json result.json`,
		Args: flags.Args("one OPERATION", 0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.out, b.errOut = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if err := b.validate(args); err != nil {
				return flags.UsageError(cmd, err)
			}
			return b.run(cmd.Context())
		},
	}
	b.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&b.rate, "rate", "100", "`REQUESTS` per second, or max to search for the highest rate")
	f.DurationVar(&b.plan.For, "for", time.Minute, "duration of the measurement")
	f.DurationVar(&b.plan.Warm, "warm", 5*time.Second, "duration of the warm-up before the measurement")
	f.IntVar(&b.plan.Connections, "connections", 64,
		"maximum number of requests in flight; further ones are delayed, and the delay counts as latency")
	f.DurationVar(&b.bounds.P99, "max-p99", 100*time.Millisecond, "maximum 99th percentile latency, for --rate max")
	f.Float64Var(&b.bounds.Errors, "max-errors", 0.001,
		"maximum error rate of an operation, from 0 to 1; the exit code is 1 above it")
	f.DurationVar(&b.bounds.Step, "step", 5*time.Second, "duration of each trial, for --rate max")
	f.IntVar(&b.skills, "skills", 200, "number of skills to register")
	f.StringVar(&b.jsonFile, "json", "", "output `FILE` for all figures and histograms")
	return cmd
}

// validate validates the settings.
func (b *bench) validate(args []string) error {
	b.operation = "mix"
	if len(args) == 1 {
		b.operation = args[0]
	}
	if operationShares[b.operation] == nil {
		return fmt.Errorf("OPERATION must be tags, by-id, search, register, analyze or mix, got %q", b.operation)
	}
	if b.rate != searchRate {
		rate, err := strconv.ParseFloat(b.rate, 64)
		if err != nil || !(rate >= minRate && rate <= maxRate) { // also rejects NaN
			return fmt.Errorf("--rate must be %g to %.0f requests per second, or %s, got %q", minRate, maxRate,
				searchRate, b.rate)
		}
		b.plan.Rate = rate
	}
	if b.plan.For <= 0 || b.bounds.Step <= 0 || b.bounds.P99 <= 0 || b.plan.Warm < 0 {
		return errors.New("--for, --step and --max-p99 must be greater than 0, --warm at least 0")
	}
	if !(b.bounds.Errors >= 0 && b.bounds.Errors <= 1) {
		return fmt.Errorf("--max-errors must be between 0 and 1, got %g", b.bounds.Errors)
	}
	if b.plan.Connections > client.MaxConnections {
		return fmt.Errorf("--connections must be at most %d, got %d", client.MaxConnections, b.plan.Connections)
	}
	b.plan.Grace = client.RequestTimeout
	b.tenant = tenantPrefix + strings.ToLower(rand.Text()[:8])
	return errors.Join(flags.AtLeast("connections", b.plan.Connections, 1), flags.AtLeast("skills", b.skills, 1))
}

// run registers the records, measures, prints the result and removes the records. An
// interrupt ends the measurement; the result is still printed and the records removed.
func (b *bench) run(ctx context.Context) (err error) {
	h, err := b.Client.Health(ctx)
	if err == nil && h.Status == schemas.StatusDown {
		err = schemas.ErrUnavailable.Because(strings.Join(h.Degraded, "; "))
	}
	if err != nil {
		return err
	}
	if b.jsonFile != "" { // not truncated yet: the load does not start if the file cannot be written
		if b.file, err = os.OpenFile(b.jsonFile, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
			return err
		}
	}
	list, err := newRecords(b.tenant, b.skills)
	if err != nil {
		return err
	}
	env := load.Here()
	env.URL, env.Version, env.Client, env.Backends = b.URL, h.Version, bus.Version,
		connect.Backends(h, "resolve", "analyze")
	defer func() { err = errors.Join(err, records.Delete(context.WithoutCancel(ctx), b.Client, list, b.tenant)) }()
	registrar := records.Registrar{Client: b.Client, ErrOut: b.errOut}
	if err := registrar.RegisterSearchable(ctx, list, client.RequestTimeout); err != nil {
		return err
	}
	r, err := b.measure(ctx)
	if err != nil {
		return err
	}
	r.Name, r.Environment, r.Records = b.operation, env, len(list)
	r.Notes = b.notes(r, len(list))
	printLoad(b.out, r)
	if err := b.writeFile(r); err != nil {
		return err
	}
	return cmp.Or(ctx.Err(), b.checkErrors(r))
}

// checkErrors returns an error when the highest error rate of an operation exceeds --max-errors.
func (b *bench) checkErrors(r *load.Result) error {
	worst := slices.MaxFunc(r.Operations, func(a, b *load.Measured) int {
		return cmp.Compare(a.FailedShare(), b.FailedShare())
	})
	if worst.FailedShare() <= b.bounds.Errors {
		return nil
	}
	return fmt.Errorf("%d of %d %s requests failed; --max-errors %g allows %.3g", worst.Failed(), worst.Count,
		worst.Operation, b.bounds.Errors, b.bounds.Errors*float64(worst.Count))
}

// measure runs the load at --rate, or searches for the highest sustained rate.
func (b *bench) measure(ctx context.Context) (*load.Result, error) {
	loadClient, err := b.newLoadClient()
	if err != nil {
		return nil, err
	}
	b.plan.Operations = loadClient.operations(b.operation)
	if b.rate != searchRate {
		return b.plan.Run(ctx), nil
	}
	return b.plan.Highest(ctx, b.bounds, func(s load.Step) {
		verdict := "sustained"
		if !s.Held {
			verdict = "not sustained"
		}
		// progress only
		_, _ = fmt.Fprintf(b.errOut, "%.0f/s: p99 %s ms, errors %.2g%%: %s\n", s.Rate, short3(s.P99), 100*s.Errors, verdict)
	}), nil
}

// lateShareNoted is the share of late requests above which the notes mention them.
const lateShareNoted = 0.01

// notes returns remarks on side effects of the measurement and on the limits of the load.
func (b *bench) notes(r *load.Result, records int) []string {
	notes := []string{fmt.Sprintf(
		"%d records of tenant %s were registered for the measurement and are removed afterwards; tags expire within %v.",
		records, b.tenant, tagTime)}
	if r.Late > lateShareNoted {
		notes = append(notes, fmt.Sprintf(
			"%.0f%% of the requests were delayed because all %d connections were busy; the delay counts as latency.", 100*r.Late,
			r.Connections))
	}
	if r.Slipped > lateShareNoted {
		notes = append(notes, fmt.Sprintf("%.0f%% of the requests were delayed by this client; the delay counts as latency.",
			100*r.Slipped))
	}
	if total := r.Operations[len(r.Operations)-1]; total.Refused() > 0 {
		notes = append(notes, fmt.Sprintf("Latency of the %d rejections: p50 %s ms, p99 %s ms.", total.Refused(),
			short3(total.Refusals.At(50)), short3(total.Refusals.At(99))))
	}
	if b.rate == searchRate && len(r.Steps) > 0 {
		verdict := "is the highest sustained rate"
		if !r.Steps[len(r.Steps)-1].Held {
			verdict = "is not sustained"
		}
		notes = append(notes, fmt.Sprintf("%.4g requests per second %s within p99 %v and %.2g%% errors, after %d trials.",
			r.Rate, verdict, b.bounds.P99, 100*b.bounds.Errors, len(r.Steps)))
	}
	return notes
}

// writeFile replaces the content of the file of --json with r.
func (b *bench) writeFile(r *load.Result) error {
	if b.file == nil {
		return nil
	}
	info, err := b.file.Stat()
	if err == nil && info.Mode().IsRegular() { // a pipe cannot be truncated
		err = b.file.Truncate(0)
	}
	if err != nil {
		return err
	}
	return errors.Join(output.JSON(b.file, r), b.file.Close())
}

// newLoadClient returns a client without retries, which would hide failures.
func (b *bench) newLoadClient() (*loadClient, error) {
	c, err := b.NewClient(-1)
	if err != nil {
		return nil, err
	}
	hosts := make([]map[string]any, 30)
	for i := range hosts {
		hosts[i] = map[string]any{"name": fmt.Sprint("host", i), "site": fmt.Sprint("site", i%3), "cpus": 4 << (i % 4)}
	}
	estate, err := json.Marshal(map[string]any{"hosts": hosts}, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return &loadClient{Client: c, tenant: b.tenant, skills: b.skills, analysis: schemas.Analysis{
		Query: "how many hosts are there per site?", Context: string(estate), Target: schemas.TargetH,
	}}, nil
}
