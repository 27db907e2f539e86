// Package overload refuses what a process could only answer late, since it has
// no processor time left. Queues would grow otherwise, until all answers are of
// requests that nobody waits for any more.
package overload

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// tolerated is how late 99% of the goroutines may come to run that could. A
	// request needs some ten of them, through an edge and a worker, and takes
	// about 30 ms then (BenchmarkSoak).
	tolerated = 8 * time.Millisecond
	// each is how often it is looked.
	each = 100 * time.Millisecond
	// least is how many requests are let in at a time, for each processor, however
	// late all is: enough that none is idle, and that few callers are never refused.
	least = 64
	// less and more are by what the limit changes from one look to the next.
	less, more = 0.8, 1.1
	// calm is how many looks without a refusal end the limit.
	calm = 50
)

// Gate lets requests in while there is processor time, any number of them. Once
// goroutines wait too long to be run it lets in ever fewer at a time, and more
// again when they do not: the additive increase and multiplicative decrease of
// TCP, with the waiting of goroutines for the loss of packets, as CockroachDB's
// admission control has it. What waits for something else than a processor
// (a disk, a backend, a model) is never a reason. It may be used concurrently.
type Gate struct {
	patience int // by how many more looks all must have been late than not, to begin
	limit    atomic.Int64
	in       atomic.Int64
	refused  atomic.Bool // since the last look
	bad      int         // by how many more looks all was late than not, at most patience
	good     int         // looks in a row at which nothing was refused
}

// New is a gate that begins to refuse when all has been late for longer than not,
// by patience, to a tenth of a second. Run keeps it up to date.
func New(patience time.Duration) *Gate {
	g := &Gate{patience: int(patience / each)}
	g.limit.Store(math.MaxInt64)
	return g
}

// Run looks how late this process is, again and again until ctx ends.
func (g *Gate) Run(ctx context.Context) {
	var l lateness
	l.take()
	tick := time.NewTicker(each)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.Look(l.take())
		}
	}
}

// Look takes note of how late goroutines were since the last look. Run calls
// it; nobody else does meanwhile.
func (g *Gate) Look(late time.Duration) {
	isLate := late > tolerated
	if isLate {
		g.bad = min(g.bad+1, g.patience)
	} else {
		g.bad = max(g.bad-1, 0)
	}
	limit, refused := g.limit.Load(), g.refused.Swap(false)
	if g.good++; refused {
		g.good = 0
	}
	switch limited := limit != math.MaxInt64; {
	case isLate && (limited || g.bad == g.patience):
		floor := least * runtime.GOMAXPROCS(0)
		limit = max(int64(less*float64(min(limit, g.in.Load()))), int64(floor))
	case limited && g.good >= calm:
		limit = math.MaxInt64
	case limited && refused:
		limit = int64(more*float64(limit)) + 1
	}
	g.limit.Store(limit)
}

// Enter reports whether one more may come in; who may leaves by Leave.
func (g *Gate) Enter() bool {
	if g.in.Add(1) <= g.limit.Load() {
		return true
	}
	g.Leave()
	g.refused.Store(true)
	return false
}

// Leave ends what Enter began.
func (g *Gate) Leave() { g.in.Add(-1) }

// Open reports whether one more may come in that does not count: it lasts, and
// needs little.
func (g *Gate) Open() bool {
	if !g.Enter() {
		return false
	}
	g.Leave()
	return true
}
