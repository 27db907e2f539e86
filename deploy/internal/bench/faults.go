package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/faults"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
)

// faultInjection injects faults into a cluster and checks the consistency of the responses.
type faultInjection struct {
	faults.Options
	keep string
}

func faultsCommand() *cobra.Command {
	b := &faultInjection{}
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Inject faults into a cluster and check its consistency",
		Long: `Faults starts a cluster of three "cairn up" processes on this machine, with clients
that create, read and delete tags and register and resolve records on all nodes.
Meanwhile it kills, pauses and partitions nodes, mostly the leader; as root on Linux it
also fills the disk of a node and simulates power failures of one and of all nodes, in
which unsynced writes are lost.

Afterwards it checks that the history of the tags is linearizable and that no
acknowledged registration is lost, and prints the error rate and latency at the other
nodes during each fault. On a violation the exit code is 1, and a page that visualizes
the history is kept.`,
		Example: `  cairn bench faults --for 10m`,
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.DurationVar(&b.For, "for", time.Minute, "duration of the fault injection")
	f.IntVar(&b.Clients, "clients", 9, "number of tag clients; three more register records and three resolve one")
	f.StringVar(&b.keep, "dir", "", "`DIRECTORY` for data, logs and the page of a violation; empty: a temporary one, removed on success")
	f.BoolVar(&b.Without, "without", false, "inject no faults, as a baseline")
	return cmd
}

func (b *faultInjection) run(ctx context.Context, out io.Writer) (err error) {
	if b.Program, err = os.Executable(); err != nil {
		return err
	}
	if b.Dir = b.keep; b.keep == "" {
		if b.Dir, err = os.MkdirTemp("", "cairn-faults-"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(b.Dir, 0o750); err != nil {
		return err
	}
	b.Log = func(line string) { _, _ = fmt.Fprintln(out, line) }
	r, err := faults.Run(ctx, b.Options)
	if err != nil {
		return err
	}
	if err := printFaults(out, r); err != nil {
		return err
	}
	if !r.OK() {
		return fmt.Errorf("verdict %s, %d registrations lost; see %s", r.Verdict, len(r.Lost), b.Dir)
	}
	if b.keep == "" {
		return os.RemoveAll(b.Dir)
	}
	return nil
}

// printFaults prints the injected faults and the results of the checks.
func printFaults(out io.Writer, r faults.Result) error {
	t := output.NewTable(out)
	t.Row("FAULT", "AT", "OTHER NODES", "FAILED", "P99", "LONGEST OUTAGE")
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	for _, f := range r.Faults {
		what, at := f.What, seconds(f.At)
		for _, kind := range faults.Kinds() {
			e := f.Effects[kind]
			t.Row(what, at, kind, fmt.Sprintf("%d of %d", e.Failed, e.Asked), seconds(e.P99), seconds(e.None))
			what, at = "", ""
		}
	}
	t.Row()
	for _, line := range []struct {
		what  string
		count int
	}{
		{"tag operations", r.Operations}, {"writes", r.Writes}, {"reads", r.Reads}, {"rejected", r.Refused},
		{"unknown outcome", r.Unknown}, {"acknowledged registrations", r.Registers}, {"lost registrations", len(r.Lost)},
	} {
		t.Row(line.what, strconv.Itoa(line.count))
	}
	t.Row("linearizable", string(r.Verdict))
	return t.Write()
}
