package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"cairn/bus/natsserver"
)

const (
	// killInterval is the interval between two kills, and downTime the time after which a
	// killed process is started again.
	killInterval = 10 * time.Second
	downTime     = 2 * time.Second
	// killTimeout is the timeout of a request while processes are killed: longer than any
	// deadline of Cairn, whose responses are measured.
	killTimeout = 20 * time.Second
	// killLanes is the number of concurrent reads of a read-only client of tags. The time to
	// check a history grows exponentially with the number of operations that overlap, as all
	// do that wait for the election of a leader; and a killed leader sends no stale responses.
	killLanes = 1
	// killAnalyses is the number of clients of each edge that follow analyses.
	killAnalyses = 2
	// maxFailed is the maximum percentage of failed requests.
	maxFailed = 0.05
)

// workerRoles are the roles of the workers, two each.
var workerRoles = []string{"tags", "register", "resolve", "analyze"}

// natsVariable is the environment variable of a process that runs a NATS server: the node's
// name, its addresses for clients and routes, all routes, and its data directory.
const natsVariable = "ROBUSTNESS_NATS"

// serveNATS runs a NATS server, configured as by "cairn up", until SIGTERM.
func serveNATS(node string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	f := strings.Fields(node)
	if len(f) != 5 {
		return fmt.Errorf("%s: expected a name, 3 addresses and a directory, got %q", natsVariable, node)
	}
	s, err := natsserver.StartNode(f[4], f[1],
		natsserver.Cluster{Name: "kills", Node: f[0], Listen: f[2], Routes: strings.Split(f[3], ",")})
	if err != nil {
		return err
	}
	<-ctx.Done()
	s.Stop()
	return nil
}

// printKills prints the result of kills. It returns an error beyond the limits.
func printKills(out io.Writer, r Result) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) } // Flush returns the error
	row("REQUESTS", "COUNT", "FAILED", "OVER 1 S", "P99", "LONGEST OUTAGE")
	for _, kind := range Kinds() {
		e := r.Requests[kind]
		row(kind, strconv.Itoa(e.Asked), strconv.Itoa(e.Failed), strconv.Itoa(e.Slow-e.Failed),
			fmt.Sprintf("%.2f s", e.P99.Seconds()), fmt.Sprintf("%.1f s", e.None.Seconds()))
	}
	row()
	failed := 100 * float64(len(r.Failures)) / float64(max(1, r.Sent))
	failures := fmt.Sprintf("%d (%.4f %%)", len(r.Failures), failed)
	runs := 0
	for _, n := range r.Analyses {
		runs += n
	}
	row("", "COUNT", "VIOLATIONS", "LIMIT")
	row("kills", strconv.Itoa(len(r.Faults)))
	row("acknowledged registrations lost", strconv.Itoa(r.Registered), strconv.Itoa(r.LostWrites), "0")
	row("tags not linearizable (operations)", strconv.Itoa(r.Tags.Writes+r.Tags.Reads), strconv.Itoa(r.BadTags), "0")
	row("records that contradict acknowledged writes (operations)", strconv.Itoa(r.Records.Writes+r.Records.Reads),
		strconv.Itoa(r.BadRecords), "0")
	row("runs with lost events", strconv.Itoa(runs), strconv.Itoa(r.Analyses[EventsLost]), "0")
	row("streams without done", strconv.Itoa(runs), strconv.Itoa(r.Analyses[WithoutDone]), "0")
	row("runs that ended with an error, their worker killed", strconv.Itoa(runs), strconv.Itoa(r.Analyses[Stopped]))
	row("resumptions", strconv.Itoa(r.Resumed))
	row("failed requests, including such runs", strconv.Itoa(r.Sent), failures, fmt.Sprint(maxFailed, " %"))
	row()
	for _, line := range failuresByKill(r) {
		row(line)
	}
	for _, violation := range r.Violations {
		row(violation)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.OK() && failed > maxFailed {
		return fmt.Errorf("%.4f %% of the requests failed, want at most %v %%", failed, maxFailed)
	}
	return nil
}

// failuresByKill returns the numbers of failed requests by the last kill before their end.
func failuresByKill(r Result) (lines []string) {
	counts := map[string]int{}
	for _, f := range r.Failures {
		after := "before the first kill"
		for _, k := range r.Faults {
			if k.At <= f.At {
				after = "after " + strings.TrimRight(k.What, "0123456789")
			}
		}
		counts[after+": "+f.What]++
	}
	for line, n := range counts {
		lines = append(lines, fmt.Sprintf("%s: %d", line, n))
	}
	slices.Sort(lines)
	return lines
}
