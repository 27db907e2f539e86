package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"cairn/schemas"
)

// Options configures a run.
type Options struct {
	Program  string        // path of the cairn executable
	Dir      string        // empty directory for data, logs and the page of a violation
	For      time.Duration // duration of the fault injection
	Clients  int           // number of clients that write and read tags; the numbers of the others are fixed
	Without  bool          // without faults, as a baseline
	Faults   string        // regular expression for the kinds of faults; empty: all
	Clocks   bool          // Program reads clocks, see clock
	Bugs     []string      // planted bugs that Program has
	Kills    bool          // kill the processes of a cluster with separate roles, instead of other faults
	Crash    bool          // crash a stand-alone node, instead of other faults
	Seed     uint64        // of the clients and the crashes; 0: random
	Analysts int           // clients of each node that follow analyses; 0: 1
	Resume   time.Duration // time after its start within which an analysis is resumed; 0: resumeTimeout
	Log      func(string)  // receives progress messages; nil: none
}

func (o Options) log(format string, args ...any) {
	if o.Log != nil {
		o.Log(fmt.Sprintf(format, args...))
	}
}

// Result is the result of a run.
type Result struct {
	Took       time.Duration
	Tags       Count
	Records    Count             // of records that are registered again and deleted
	Registered int               // acknowledged registrations of other records
	Analyses   map[string]int    // by outcome and by violation
	Resumed    int               // resumptions of all analyses
	Sent       int               // requests that reached a server
	Failures   []failure         // of them
	Requests   map[string]Effect // by kind of request, of the whole run
	Faults     []Fault
	Verdict    porcupine.CheckResult // of the history of the tags
	Page       string                // path of the HTML page of a violation by tags; empty: none
	LostWrites int                   // acknowledged registrations that are lost
	BadTags    int                   // tags whose operations are not linearizable
	BadRecords int                   // operations on records that contradict acknowledged writes
	Violations []string              // all of them
}

// Count is the number of operations by outcome.
type Count struct {
	Writes, Reads, Refused, Unknown int
}

// OK reports whether there is no violation.
func (r Result) OK() bool { return r.Verdict == porcupine.Ok && len(r.Violations) == 0 }

const (
	// upTime is the maximum time until all nodes are healthy.
	upTime = 2 * time.Minute
	// checkTime is the timeout of the linearizability check.
	checkTime = 2 * time.Minute
	// minUptime and maxUptime are the shortest and the longest time between a start and the next crash of a
	// stand-alone node. After longUptime, markers of deletions of tags would have expired.
	minUptime, longUptime, maxUptime = 200 * time.Millisecond, 4 * time.Second, 7 * time.Second
)

// Run injects faults as configured by o and checks the history.
func Run(ctx context.Context, o Options) (r Result, err error) {
	model, err := newLanguageModel()
	if err != nil {
		return r, err
	}
	defer func() { _ = model.close() }() // its requests have ended with the cluster
	c, err := newCluster(o.Program, o.Dir, "--model", model.url())
	if err != nil {
		return r, err
	}
	defer func() {
		if closed := c.close(); err == nil {
			err = closed
		}
	}()
	if o.Crash {
		c.standAlone()
	}
	if err := o.start(c); err != nil {
		return r, err
	}
	if err := formed(ctx, c); err != nil {
		return r, err
	}
	w := newWorkload(c)
	defer w.http.CloseIdleConnections()
	w.seed = cmp.Or(o.Seed, rand.Uint64()) // #nosec G404 -- load, not a secret
	o.log("seed %d", w.seed)
	w.analysts, w.resume = max(1, o.Analysts), cmp.Or(o.Resume, resumeTimeout)
	if o.Kills {
		w.analysts, w.timeout, w.readTimeout, w.lanes = killAnalyses, killTimeout, killTimeout, killLanes
	}
	if o.Crash {
		conn, err := c.connect("")
		if err != nil {
			return r, err
		}
		defer conn.Close()
		w.analysts, w.operator = 0, &operator{workload: w, conn: conn}
	}
	working, end := context.WithCancel(ctx)
	wait := w.start(working, o.Clients)
	switch {
	case o.Without:
		sleep(ctx, o.For)
	case o.Kills:
		r.Faults, err = o.kill(ctx, c, w)
	case o.Crash:
		r.Faults, err = o.crash(ctx, c, w)
	default:
		r.Faults, err = o.injectFaults(ctx, c, w)
	}
	end()
	wait()
	if err != nil {
		return r, err
	}
	r.Took, r.Sent, r.Failures = w.since(), w.sent, w.failures
	if _, err := ready(ctx, c); err != nil {
		return r, err
	}
	return r, r.check(ctx, w, o.Dir)
}

// start starts the processes of the cluster.
func (o Options) start(c *cluster) error {
	c.env = append(c.env, bugsVariable+"="+strings.Join(o.Bugs, "; "))
	if o.Kills {
		return c.startRoles()
	}
	if o.Crash {
		return c.run(0)
	}
	if o.Clocks {
		if err := c.addClocks(); err != nil {
			return err
		}
	} else {
		o.log("clocks are not skewed: the program was not built for it")
	}
	if missing := c.mountDisks(); missing != nil {
		o.log("full disks and power failures are not injected: %v", missing)
	}
	for i := range nodes {
		if err := c.run(i); err != nil {
			return err
		}
	}
	return nil
}

// injectFaults injects faults of the kinds that o selects, in turn, and waits after each
// until all nodes are healthy.
func (o Options) injectFaults(ctx context.Context, c *cluster, w *workload) (injected []Fault, err error) {
	list, err := o.kinds(len(c.mounted) > 0, len(c.clocks) > 0)
	if err != nil {
		return nil, err
	}
	sleep(ctx, faultInterval)
	for n := 0; w.since() < o.For && ctx.Err() == nil; n++ {
		kind := list[n%len(list)]
		f := Fault{Nodes: kind.choose(ctx, c), Majority: kind.nodes > nodes/2, Skew: kind.skew, At: w.since()}
		f.What = fmt.Sprintf(kind.description+"%.0[2]s", c.names[f.Nodes[0]], c.names[f.Nodes[len(f.Nodes)-1]])
		o.log("%4.0f s  %s", f.At.Seconds(), f.What)
		if err := kind.inject(ctx, c, f.Nodes); err != nil {
			return injected, fmt.Errorf("%s: %w", f.What, err)
		}
		f.Ended = w.since()
		reason, err := ready(ctx, c)
		if err != nil {
			return injected, fmt.Errorf("after the fault %q: %w", f.What, err)
		}
		f.Healthy = w.since()
		w.audit(ctx)
		o.log("%4.0f s  healthy; last problem: %s", f.Healthy.Seconds(), cmp.Or(reason, "none"))
		injected = append(injected, f)
		sleep(ctx, faultInterval)
	}
	return injected, ctx.Err()
}

// kinds returns the kinds of faults whose description matches o.Faults; disks and clocks
// report whether the nodes have disks and clocks.
func (o Options) kinds(disks, clocks bool) ([]kind, error) {
	matches, err := regexp.Compile(o.Faults)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool {
		return !matches.MatchString(k.description) || k.disk && !disks || k.clock && !clocks
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("no fault matches %q", o.Faults)
	}
	return list, nil
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

// crash kills the stand-alone node at random times, and starts it again, until o.For has passed.
func (o Options) crash(ctx context.Context, c *cluster, w *workload) (crashes []Fault, err error) {
	random := w.random(-1)
	for n := 0; (w.since() < o.For || n < 2) && ctx.Err() == nil; n++ {
		shortest, longest := minUptime, maxUptime
		if n%2 == 0 {
			shortest = longUptime
		}
		sleep(ctx, shortest+time.Duration(random.Int64N(int64(longest-shortest))))
		f := Fault{At: w.since(), Nodes: []int{0}}
		if f.What, err = c.crash(0, random.IntN(crashKinds)); err == nil {
			err = c.run(0)
		}
		if err != nil {
			return crashes, err
		}
		f.Ended = w.since()
		if _, err := ready(ctx, c); err != nil {
			return crashes, fmt.Errorf("after %s: %w", f.What, err)
		}
		f.Healthy = w.since()
		o.log("%5.1f s  %s, healthy after %.1f s", f.At.Seconds(), f.What, (f.Healthy - f.Ended).Seconds())
		crashes = append(crashes, f)
		w.audit(ctx)
	}
	return crashes, ctx.Err()
}

// bugsVariable is the environment variable with the names of planted bugs.
const bugsVariable = "ROBUSTNESS_BUGS"

// formed waits until the cluster has all services and streams, without load.
func formed(ctx context.Context, c *cluster) error {
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	for i := 0; i < nodes; sleep(ctx, 100*time.Millisecond) {
		status, problem := c.health(ctx, i)
		if status == schemas.StatusOK {
			i++
		} else if ctx.Err() != nil {
			return fmt.Errorf("%s is not healthy; the logs are in %s: %s", c.names[i], c.dir, problem)
		}
	}
	_, err := ready(ctx, c)
	return err
}

// ready waits until all nodes are healthy, and returns the last reason why one was not.
func ready(ctx context.Context, c *cluster) (reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	return c.waitHealthy(ctx)
}

// check counts the operations and checks their history.
func (r *Result) check(ctx context.Context, w *workload, dir string) error {
	r.measure(w)
	tags, records := w.tags.Operations(), w.records.Operations()
	for _, f := range r.Faults {
		tags = f.skewed(tags)
	}
	r.Tags, r.Records, r.Registered = count(tags), count(records), len(w.registered)
	r.Violations = CheckRecords(records)
	r.BadRecords = len(r.Violations)
	r.Violations = append(r.Violations, w.broken...)
	lost := w.lost(ctx)
	r.LostWrites = len(lost)
	for _, id := range lost {
		r.Violations = append(r.Violations, "the registration of "+id+" was acknowledged, and is lost")
	}
	var broken []string
	r.Analyses, r.Resumed, broken = checkAnalyses(w.analyses, r.Faults)
	r.Violations = append(r.Violations, broken...)
	history, err := json.Marshal(map[string]any{"tags": tags, "records": records, "analyses": w.analyses,
		"failures": r.Failures})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "history.json"), history, 0o600)
	}
	if err != nil {
		return err
	}
	verdict, page := CheckTags(tags, checkTime)
	if r.Verdict = verdict; verdict == porcupine.Ok {
		return nil
	}
	if verdict == porcupine.Illegal {
		keys := checkKeys(tags, checkTime)
		r.BadTags = len(keys)
		for _, key := range keys {
			r.Violations = append(r.Violations, "the operations on the tag "+key+" are not linearizable")
		}
	}
	r.Page = filepath.Join(dir, "history.html")
	return page(r.Page)
}

// measure computes the effects of the faults.
func (r *Result) measure(w *workload) {
	r.Requests = map[string]Effect{}
	for _, kind := range Kinds() {
		r.Requests[kind] = EffectOf(w.samples[kind], nil, 0, r.Took)
	}
	for i := range r.Faults {
		f, until := &r.Faults[i], r.Took
		if i+1 < len(r.Faults) {
			until = r.Faults[i+1].At
		}
		f.Effects = map[string]Effect{}
		for _, kind := range Kinds() {
			faulty := f.Nodes
			if len(faulty) == nodes {
				faulty = nil
			}
			f.Effects[kind] = EffectOf(w.samples[kind], faulty, f.At, until)
		}
	}
}

func count(list []Operation) (c Count) {
	for _, o := range list {
		switch {
		case o.Unknown:
			c.Unknown++
		case o.Refused:
			c.Refused++
		case o.Action == Read:
			c.Reads++
		default:
			c.Writes++
		}
	}
	return c
}
