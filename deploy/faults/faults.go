// Package faults runs three "cairn up" that are one cluster, lets nodes die, stand
// still and be cut off while clients of all of them work, and checks that what the
// clients were told is linearizable, and that nothing acknowledged is lost.
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

// Options say what is run.
type Options struct {
	Program string        // cairn
	Dir     string        // an empty folder for data, logs, and the page of a violation
	For     time.Duration // how long faults are made
	Clients int           // of the tags, all nodes together; as many as nodes register records, and resolve one
	Without bool          // faults: to know what is so without them
	Log     func(string)  // is told what is done
}

// Fault is one that was made.
type Fault struct {
	What    string
	Node    int               // that it was of; -1: all
	At      time.Duration     // since the beginning
	Effects map[string]Effect // by kind of request, from the fault until the next
}

// Result is what became of it.
type Result struct {
	Took                              time.Duration
	Operations, Unknown               int
	Writes, Reads, Refused, Registers int // that were answered
	Faults                            []Fault
	Lost                              []string // registrations that were acknowledged, and are not there
	Verdict                           porcupine.CheckResult
	Page                              string // HTML of what was not linearizable; empty: all was
}

// OK reports whether everything was as promised.
func (r Result) OK() bool { return r.Verdict == porcupine.Ok && len(r.Lost) == 0 }

const (
	// up is how long the nodes may take until all is well.
	upTime = 2 * time.Minute
	// calm is between the end of a fault and the next.
	calm = 4 * time.Second
	// checkTime bounds the check of the history.
	checkTime = 2 * time.Minute
)

// Run makes faults for as long as o says, and checks what came of them.
func Run(ctx context.Context, o Options) (r Result, err error) {
	c, err := newCluster(ctx, o.Program, o.Dir)
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

// make makes one fault after the other, each once before any again.
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

// kind is a kind of faults.
type kind struct {
	what  string // with the node, unless it is of all
	which which
	disk  bool // needs disks of their own for the nodes
	make  func(ctx context.Context, c *cluster, node int) error
}

// which nodes a fault is of.
type which int

const (
	leader which = iota // of the tags
	anyone
	everyone
)

// kinds are the faults there are, in order.
var kinds = []kind{
	{"kill -9 of %s, the leader; started again after 8 s", leader, false, func(ctx context.Context, c *cluster, node int) error {
		c.kill(node)
		sleep(ctx, 8*time.Second)
		return c.run(node)
	}},
	{"the power of %s, the leader, fails for 5 s", leader, true, func(ctx context.Context, c *cluster, node int) error {
		return c.powerFails(ctx, node)
	}},
	{"%s, the leader, is cut off for 10 s", leader, false, cutOff},
	{"the power of all fails for 5 s", everyone, true, func(ctx context.Context, c *cluster, _ int) error {
		return c.powerFails(ctx, 0, 1, 2)
	}},
	{"%s, the leader, stands still for 10 s", leader, false, func(ctx context.Context, c *cluster, node int) error {
		if err := c.stop(node); err != nil {
			return err
		}
		sleep(ctx, 10*time.Second)
		return c.cont(node)
	}},
	{"the disk of %s, the leader, is full for 10 s; then it is started again", leader, true, diskFull},
	{"%s is cut off for 10 s", anyone, false, cutOff},
}

func cutOff(ctx context.Context, c *cluster, node int) error {
	c.isolate(node)
	sleep(ctx, 10*time.Second)
	c.mend()
	return nil
}

// judge counts and checks.
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
