package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anishathalye/porcupine"

	"cairn/schemas"
)

// Options configures a run.
type Options struct {
	Program string        // path of the cairn executable
	Dir     string        // empty directory for data, logs and the page of a violation
	For     time.Duration // duration of the fault injection
	Clients int           // number of clients that write and read tags; the numbers of the others are fixed
	Without bool          // without faults, as a baseline
	Faults  string        // regular expression for the kinds of faults; empty: all
	Log     func(string)  // receives progress messages; nil: none
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
	Records    Count          // of records that are registered again and deleted
	Registered int            // acknowledged registrations of other records
	Analyses   map[string]int // by outcome
	Resumed    int            // resumptions of all analyses
	Faults     []Fault
	Verdict    porcupine.CheckResult // of the history of the tags
	Page       string                // path of the HTML page of a violation by tags; empty: none
	Violations []string
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
	if missing := c.mountDisks(); missing != nil {
		o.log("full disks and power failures are not injected: %v", missing)
	}
	for i := range nodes {
		if err := c.run(i); err != nil {
			return r, err
		}
	}
	if err := formed(ctx, c); err != nil {
		return r, err
	}
	w := newWorkload(c)
	defer w.http.CloseIdleConnections()
	working, end := context.WithCancel(ctx)
	wait := w.start(working, o.Clients)
	if o.Without {
		sleep(ctx, o.For)
	} else {
		r.Faults, err = o.injectFaults(ctx, c, w)
	}
	end()
	wait()
	if err != nil {
		return r, err
	}
	r.Took = w.since()
	if _, err := ready(ctx, c); err != nil {
		return r, err
	}
	return r, r.judge(ctx, w, o.Dir)
}

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
	return c.awaitHealthy(ctx)
}

// judge counts the operations and checks their history.
func (r *Result) judge(ctx context.Context, w *workload, dir string) error {
	r.measure(w)
	tags, records := w.tags.Operations(), w.records.Operations()
	r.Tags, r.Records, r.Registered = count(tags), count(records), len(w.registered)
	r.Violations = CheckRecords(records)
	for _, id := range w.lost(ctx) {
		r.Violations = append(r.Violations, "the registration of "+id+" was acknowledged, and is lost")
	}
	var broken []string
	r.Analyses, r.Resumed, broken = judgeAnalyses(w.analyses, r.Faults)
	r.Violations = append(r.Violations, broken...)
	history, err := json.Marshal(map[string]any{"tags": tags, "records": records, "analyses": w.analyses})
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
		for _, key := range checkKeys(tags, checkTime) {
			r.Violations = append(r.Violations, "the operations on the tag "+key+" are not linearizable")
		}
	}
	r.Page = filepath.Join(dir, "history.html")
	return page(r.Page)
}

// measure computes the effects of the faults.
func (r *Result) measure(w *workload) {
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
