package server

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// smallHeap is the size of the live heap, in bytes, up to which it may grow to three times its size before a
// collection, and beyond to twice. The heap of most nodes is small, and a collection at every doubling takes 5 % of
// the CPU time and doubles the 90th percentile of the latency at 3,000 requests/s.
const smallHeap = 256 << 20

// paceGC sets GOGC, and again after each collection.
func paceGC(percent int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	next := 200
	if live[0].Value.Uint64() > smallHeap {
		next = 100
	}
	if next != percent {
		debug.SetGCPercent(next)
	}
	runtime.AddCleanup(new([2]int), paceGC, next)
}

// LimitMemory sets the memory limit of the Go runtime to 90 % of the limit of the
// cgroup, if there is one, and the target of the garbage collector. GOMEMLIMIT and GOGC in
// the environment take precedence.
func LimitMemory(errOut io.Writer) {
	if os.Getenv("GOGC") == "" {
		paceGC(0)
	}
	unlimited := func() (uint64, error) { return 0, memlimit.ErrNoLimit }
	_, err := memlimit.Set(memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, unlimited)))
	if err != nil { // a malformed AUTOMEMLIMIT
		_, _ = fmt.Fprintln(errOut, "cairn:", err)
	}
}

// assumedMemory is the memory limit, in bytes, that budgets are derived from where
// neither the cgroup nor GOMEMLIMIT sets one.
const assumedMemory = 4 << 30

// minBudget is the minimum budget, in bytes: large enough for one body of maximum size.
const minBudget = 64 << 20

// memoryShare returns a budget in bytes, by default the memory limit divided by divisor.
func memoryShare(budget, divisor int64) int64 {
	if budget > 0 {
		return budget
	}
	limit, set := memoryLimit()
	if !set {
		limit = min(limit, assumedMemory)
	}
	return max(limit/divisor, minBudget)
}

// recordsShare returns the quota of a tenant for records in bytes, by default a 32nd of the memory limit.
// Records take up to 15 times their size in the memory of a worker (catalog.SizeOf), so those of one tenant
// take less than half of it.
func recordsShare(quota int64) int64 {
	if quota > 0 {
		return quota
	}
	limit, _ := memoryLimit()
	return limit / 32
}

// memoryLimit returns the memory limit of the Go runtime in bytes, at most the memory of the machine, and
// whether it is set. Without one it is the memory of the machine, or assumedMemory if that is unknown.
func memoryLimit() (limit int64, set bool) {
	limit = debug.SetMemoryLimit(-1)
	set = limit != math.MaxInt64
	system, err := memlimit.FromSystem()
	switch {
	case err == nil:
		limit = min(limit, int64(system))
	case !set:
		limit = assumedMemory
	}
	return limit, set
}

// connectionMemory is the memory of an open HTTP connection, in bytes, with TLS.
const connectionMemory = 32 << 10

// maxConnections returns how many HTTP connections the process may hold: as many as an
// eighth of the memory limit fits, and at most 80 % of its file descriptors.
func maxConnections() int64 {
	limit := memoryShare(0, 8) / connectionMemory
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur > math.MaxInt32 {
		return limit
	}
	return min(limit, int64(files.Cur)*4/5)
}
