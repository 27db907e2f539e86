package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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

// startRoles starts the cluster as separate processes: as many NATS servers and edges as nodes,
// and two workers of each role. The edges are c.procs.
func (c *cluster) startRoles() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	urls := "nats://" + strings.Join(c.natsAddr[:], ",nats://")
	for i := range nodes {
		at := strings.Join([]string{c.names[i], c.natsAddr[i], c.routeAddr[i], strings.Join(c.routeAddr[:], ","), c.data(i)}, " ")
		c.addPart("nats"+strconv.Itoa(i), func() *exec.Cmd {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), natsVariable+"="+at)
			return cmd
		})
	}
	for _, p := range c.parts {
		if err := p.start(); err != nil {
			return err
		}
	}
	if out, err := exec.Command(c.program, "setup", "--replicas", strconv.Itoa(nodes), "--nats", urls).CombinedOutput(); err != nil {
		return fmt.Errorf("cairn setup: %w: %s", err, out)
	}
	for _, role := range workerRoles {
		for n := range 2 {
			c.addPart(role+strconv.Itoa(n), c.roleCommand(urls, append([]string{"worker", role}, c.flags...)))
		}
	}
	for i := range nodes {
		p := &c.procs[i]
		p.name = "edge" + strconv.Itoa(i)
		p.log = filepath.Join(c.dir, p.name+".log")
		p.command = c.roleCommand(urls, []string{"edge", "--http", c.httpAddr[i]})
	}
	for _, p := range c.processes() {
		if p.running != nil {
			continue
		}
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) addPart(name string, command func() *exec.Cmd) {
	c.parts = append(c.parts, &process{name: name, log: filepath.Join(c.dir, name+".log"), command: command})
}

func (c *cluster) roleCommand(urls string, args []string) func() *exec.Cmd {
	return func() *exec.Cmd {
		args := append(slices.Clone(args), "--nats", urls, "--log-level", "warn")
		return exec.Command(c.program, args...) // #nosec G204 -- the program is an option
	}
}

// processes returns all processes: each NATS server is followed by several others, so that it
// has the data of the others before the next one is killed.
func (c *cluster) processes() (list []*process) {
	servers, others := c.parts[:nodes], slices.Clone(c.parts[nodes:])
	for i := range nodes {
		others = append(others, &c.procs[i])
	}
	for i, p := range servers {
		list = append(list, p)
		list = append(list, others[i*len(others)/nodes:(i+1)*len(others)/nodes]...)
	}
	return list
}

// natsVariable is the environment variable of a process that runs a NATS server: the node's
// name, its addresses for clients and routes, all routes, and its data directory.
const natsVariable = "ROBUSTNESS_NATS"

// serveNATS runs a NATS server, configured as by "cairn up", until SIGTERM.
func serveNATS(at string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	f := strings.Fields(at)
	if len(f) != 5 {
		return fmt.Errorf("%s: expected a name, 3 addresses and a directory, got %q", natsVariable, at)
	}
	s, err := natsserver.StartNode(f[4], f[1], natsserver.Cluster{Name: "kills", Node: f[0], Listen: f[2], Routes: strings.Split(f[3], ",")})
	if err != nil {
		return err
	}
	<-ctx.Done()
	s.Stop()
	return nil
}

// kill kills one process after the other, and starts each again, until o.For has passed.
func (o Options) kill(ctx context.Context, c *cluster, w *workload) (kills []Fault, err error) {
	list := c.processes()
	for n := 1; time.Duration(n)*killInterval < o.For && ctx.Err() == nil; n++ {
		sleep(ctx, time.Duration(n)*killInterval-w.since())
		p := list[(n-1)%len(list)]
		f := Fault{What: "SIGKILL of " + p.name, At: w.since()}
		o.log("%4.0f s  %s", f.At.Seconds(), f.What)
		p.kill()
		sleep(ctx, downTime)
		if err := p.start(); err != nil {
			return kills, fmt.Errorf("start %s again: %w", p.name, err)
		}
		f.Ended = w.since()
		f.Healthy = f.Ended
		kills = append(kills, f)
	}
	sleep(ctx, o.For-w.since())
	return kills, ctx.Err()
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
	row("records that contradict acknowledged writes (operations)", strconv.Itoa(r.Records.Writes+r.Records.Reads), strconv.Itoa(r.BadRecords), "0")
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
	for what, n := range counts {
		lines = append(lines, fmt.Sprintf("%s: %d", what, n))
	}
	slices.Sort(lines)
	return lines
}
