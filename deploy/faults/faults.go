// Package faults runs a cluster of three "cairn up" processes and injects faults (killed,
// suspended and partitioned nodes, full disks, power failures) while clients use all nodes.
// It then checks that the history of the clients is linearizable and that no acknowledged
// write is lost.
package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Options configures a run.
type Options struct {
	Program string        // path of the cairn executable
	Dir     string        // empty directory for data, logs and the page of a violation
	For     time.Duration // duration of the fault injection
	Clients int           // number of tag clients in total; each node also has one client that registers records and one that resolves one
	Without bool          // without faults, as a baseline
	Log     func(string)  // receives progress messages; nil: none
}

// Fault is an injected fault.
type Fault struct {
	What    string
	Node    int               // the faulty node; -1: all
	At      time.Duration     // since the start of the workload
	Effects map[string]Effect // by kind of request, until the next fault
}

// Result is the result of a run.
type Result struct {
	Took                              time.Duration
	Operations, Unknown               int
	Writes, Reads, Refused, Registers int // completed operations
	Faults                            []Fault
	Lost                              []string // ids of acknowledged registrations that are missing
	Verdict                           porcupine.CheckResult
	Page                              string // path of the HTML page of a violation; empty: none
}

// OK reports whether the history is linearizable and no registration is lost.
func (r Result) OK() bool { return r.Verdict == porcupine.Ok && len(r.Lost) == 0 }

const (
	// upTime is the maximum time until all nodes are healthy.
	upTime = 2 * time.Minute
	// calm is the time between the end of a fault and the next one.
	calm = 4 * time.Second
	// checkTime is the timeout of the linearizability check.
	checkTime = 2 * time.Minute
)

// Run injects faults as configured by o and checks the history.
func Run(ctx context.Context, o Options) (r Result, err error) {
	c, err := newCluster(o.Program, o.Dir)
	if err != nil {
		return r, err
	}
	defer func() {
		if closed := c.close(); err == nil {
			err = closed
		}
	}()
	none := c.disks()
	if none != nil && o.Log != nil {
		o.Log("no disk becomes full, no power fails: " + none.Error())
	}
	for i := range nodes {
		if err := c.run(i); err != nil {
			return r, err
		}
	}
	if err := ready(ctx, c); err != nil {
		return r, err
	}
	w := newWorkload(c.https)
	defer w.http.CloseIdleConnections()
	working, end := context.WithCancel(ctx)
	var clients sync.WaitGroup
	for i := range o.Clients {
		clients.Go(func() { w.tags(working, i) })
	}
	for i := range nodes {
		clients.Go(func() { w.register(working, i) })
		clients.Go(func() { w.resolve(working, i) })
	}
	made, err := o.make(ctx, c, w)
	end()
	clients.Wait()
	if err != nil {
		return r, err
	}
	r.Took = time.Since(w.began)
	if err := ready(ctx, c); err != nil {
		return r, err
	}
	return r, r.judge(w, made, o.Dir)
}

func ready(ctx context.Context, c *cluster) error {
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	return c.well(ctx)
}

// make injects faults of all kinds in turn.
func (o Options) make(ctx context.Context, c *cluster, w *workload) (made []Fault, err error) {
	sleep(ctx, calm)
	kinds := kinds
	if len(c.mounted) == 0 {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.disk })
	}
	for n := 0; !o.Without && time.Since(w.began) < o.For && ctx.Err() == nil; n++ {
		kind := kinds[n%len(kinds)]
		node := rand.IntN(nodes) // #nosec G404 -- any will do
		if kind.which == leader {
			node = c.leader(ctx, "tags")
		}
		f := Fault{What: kind.what, Node: -1, At: time.Since(w.began)}
		if kind.which != everyone {
			f.What, f.Node = fmt.Sprintf(kind.what, name(node)), node
		}
		if o.Log != nil {
			o.Log(fmt.Sprintf("%4.0f s  %s", f.At.Seconds(), f.What))
		}
		made = append(made, f)
		if err := kind.make(ctx, c, node); err != nil {
			return made, err
		}
		sleep(ctx, calm)
	}
	if o.Without {
		sleep(ctx, o.For)
	}
	return made, ctx.Err()
}

// kind is a kind of fault.
type kind struct {
	what  string // description, formatted with the node's name unless it affects all
	which which
	disk  bool // requires a disk for each node
	make  func(ctx context.Context, c *cluster, node int) error
}

// which selects the nodes that a fault affects.
type which int

const (
	leader which = iota // of the tag bucket
	anyone
	everyone
)

// kinds lists all faults in order.
var kinds = []kind{
	{"kill -9 of %s, the leader; started again after 8 s", leader, false, func(ctx context.Context, c *cluster, node int) error {
		c.kill(node)
		sleep(ctx, 8*time.Second)
		return c.run(node)
	}},
	{"power failure of %s, the leader, for 5 s", leader, true, func(ctx context.Context, c *cluster, node int) error {
		return c.powerFails(ctx, node)
	}},
	{"network partition of %s, the leader, for 10 s", leader, false, cutOff},
	{"power failure of all nodes for 5 s", everyone, true, func(ctx context.Context, c *cluster, _ int) error {
		return c.powerFails(ctx, 0, 1, 2)
	}},
	{"%s, the leader, is suspended for 10 s", leader, false, func(ctx context.Context, c *cluster, node int) error {
		if err := c.stop(node); err != nil {
			return err
		}
		sleep(ctx, 10*time.Second)
		return c.cont(node)
	}},
	{"the disk of %s, the leader, is full for 10 s; then it is started again", leader, true, diskFull},
	{"network partition of %s for 10 s", anyone, false, cutOff},
}

func cutOff(ctx context.Context, c *cluster, node int) error {
	c.isolate(node)
	sleep(ctx, 10*time.Second)
	c.heal()
	return nil
}

// judge counts the operations and checks the history.
func (r *Result) judge(w *workload, made []Fault, dir string) error {
	list := w.history.Operations()
	for _, o := range list {
		switch {
		case o.Unknown:
			r.Unknown++
		case o.Refused:
			r.Refused++
		case o.Action == Read:
			r.Reads++
		default:
			r.Writes++
		}
	}
	r.Operations, r.Registers, r.Faults = len(list), len(w.records), made
	for i := range made {
		until := r.Took
		if i+1 < len(made) {
			until = made[i+1].At
		}
		f := &r.Faults[i]
		f.Effects = map[string]Effect{}
		for _, kind := range Kinds() {
			f.Effects[kind] = EffectOf(w.samples[kind], f.Node, f.At, until)
		}
	}
	r.Lost = w.lost()
	verdict, page := Check(list, checkTime)
	if r.Verdict = verdict; verdict == porcupine.Ok {
		return nil
	}
	r.Page = filepath.Join(dir, "history.html")
	return page(r.Page)
}
