// Robustness injects faults into a cluster of Cairn and checks the consistency of its
// responses, as the robustness tests of etcd do. It starts three "cairn up" processes on
// this machine, with clients of all nodes that
//
//   - create, read and delete tags, some of which expire;
//   - register the same records again, delete them, and read them with and without a
//     minimum revision;
//   - register and resolve further records;
//   - start analyses, disconnect, and resume them at other nodes.
//
// Meanwhile it kills, suspends, replaces and partitions nodes, mostly the leader, also in
// one direction and two at once; as root on Linux it also fills the disk of a node and
// simulates power failures of one and of all nodes, in which unsynced writes are lost. If it
// builds the program, it also skews the clocks of nodes and of a worker, see clock.
//
// Afterwards it checks that the history of the tags is linearizable, that each read of a
// record includes the writes that it must, that no acknowledged registration is lost, and
// that each analysis has all its events, once and in order, and ends with done. It prints
// the error rate and latency at the other nodes during each fault. On a violation the exit
// code is 1, and the data, the logs, the history and a visualization of the history of the tags
// are kept.
//
// With --kills it instead starts a cluster with separate roles and kills each process in turn,
// every 10 s. Then the exit code is also 1 if more than 0.05 % of the requests failed.
// Connections that a killed edge refuses do not count: a load balancer uses another edge.
//
// With --crash it instead kills one stand-alone process at random times, and restarts it, also with the
// indexes of its message stores deleted or truncated. Then it also checks API keys and the history of a record.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	if node := os.Getenv(natsVariable); node != "" {
		exit(serveNATS(node))
	}
	var o Options
	flag.StringVar(&o.Program, "program", "",
		"`path` of the cairn executable; empty: build it, with clocks that can be skewed")
	flag.DurationVar(&o.For, "for", time.Minute, "duration of the fault injection")
	flag.IntVar(&o.Clients, "clients", 9,
		"number of clients that write and read tags; the numbers of the others are fixed")
	flag.StringVar(&o.Dir, "dir", "",
		"`directory` for data, logs and the page of a violation; empty: a temporary one, removed on success")
	flag.BoolVar(&o.Without, "without", false, "inject no faults, as a baseline")
	flag.StringVar(&o.Faults, "faults", "", "inject only faults whose description matches the `regexp`; empty: all")
	flag.BoolVar(&o.Kills, "kills", false,
		"instead, kill each process of a cluster with separate roles in turn, every 10 s")
	flag.BoolVar(&o.Crash, "crash", false,
		"instead, kill a stand-alone node at random times, and restart it, also without the indexes of its streams")
	flag.Uint64Var(&o.Seed, "seed", 0, "seed of the clients and the crashes; 0: random")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := inject(ctx, os.Stdout, o)
	stop()
	exit(err)
}

// exit ends the process with code 0, or with the error and code 1.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "robustness:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// inject runs the fault injection and prints its result.
func inject(ctx context.Context, out io.Writer, o Options) (err error) {
	keep := o.Dir != ""
	if !keep {
		o.Dir, err = os.MkdirTemp("", "cairn-robustness-")
	} else if err = os.MkdirAll(o.Dir, 0o750); err == nil {
		o.Dir, err = filepath.Abs(o.Dir)
	}
	if err != nil {
		return err
	}
	o.Log = func(line string) { _, _ = fmt.Fprintln(out, line) }
	if o.Program == "" {
		o.Program, o.Clocks = filepath.Join(o.Dir, "cairn"), true
		if err := buildWithClocks(o.Program); err != nil {
			return err
		}
	}
	r, err := Run(ctx, o)
	if err != nil {
		return err
	}
	report := printFaults
	if o.Kills {
		report = printKills
	}
	if err := report(out, r); err != nil {
		return err
	}
	if !r.OK() {
		return fmt.Errorf("%d violations, tags linearizable: %s; see %s", len(r.Violations), r.Verdict, o.Dir)
	}
	if keep {
		return nil
	}
	return os.RemoveAll(o.Dir)
}

// printFaults prints the injected faults and the results of the checks.
func printFaults(out io.Writer, r Result) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) } // Flush returns the error
	row("FAULT", "AT", "HEALTHY AFTER", "OTHER NODES", "FAILED", "FAILED OR OVER 1 S", "P99", "LONGEST OUTAGE")
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	for _, f := range r.Faults {
		description, start, healthy := f.What, seconds(f.At), seconds(f.Healthy-f.Ended)
		for _, kind := range Kinds() {
			e := f.Effects[kind]
			row(description, start, healthy, kind, fmt.Sprintf("%d of %d", e.Failed, e.Asked),
				fmt.Sprintf("%d of %d", e.Slow, e.Asked), seconds(e.P99), seconds(e.None))
			description, start, healthy = "", "", ""
		}
	}
	row()
	row("", "WRITES", "READS", "REJECTED", "UNKNOWN OUTCOME")
	for _, line := range []struct {
		name string
		Count
	}{{"tags", r.Tags}, {"records", r.Records}} {
		row(line.name, strconv.Itoa(line.Writes), strconv.Itoa(line.Reads), strconv.Itoa(line.Refused),
			strconv.Itoa(line.Unknown))
	}
	row()
	for _, line := range []struct {
		name  string
		count int
	}{
		{"further registrations", r.Registered}, {"analyses complete", r.Analyses[Complete]},
		{"analyses stopped with an error", r.Analyses[Stopped]},
		{"analyses lost with a majority of the nodes", r.Analyses[Lost]},
		{"resumptions", r.Resumed}, {"violations", len(r.Violations)},
	} {
		row(line.name, strconv.Itoa(line.count))
	}
	row("tags linearizable", string(r.Verdict))
	for _, violation := range r.Violations {
		row(violation)
	}
	return t.Flush()
}
