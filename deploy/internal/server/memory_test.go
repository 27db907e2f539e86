package server

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"cairn/test/wait"
)

// TestBudgets sets the memory limit of the test process, so it does not run in parallel.
func TestBudgets(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	system, err := memlimit.FromSystem()
	if err != nil {
		t.Fatal(err)
	}
	memory := int64(system)
	quarter := func(budget int64) int64 { return memoryShare(budget, 4) }
	for _, c := range []struct {
		name   string
		budget func(flag int64) int64
		limit  int64
		flag   int64
		want   int64
	}{
		{"a flag takes precedence", quarter, 1 << 30, 100 << 20, 100 << 20},
		{"by default a quarter of the memory limit", quarter, 1 << 30, 0, 256 << 20},
		{"a quarter of 4 GiB, or of less memory, without a limit", quarter, math.MaxInt64, 0, min(memory, 4<<30) / 4},
		{"records: a flag takes precedence", recordsShare, 1 << 30, 100 << 20, 100 << 20},
		{"records: by default a 32nd of the memory limit", recordsShare, 1 << 30, 0, 32 << 20},
		{"records: a 32nd of the memory without a limit", recordsShare, math.MaxInt64, 0, memory / 32},
	} {
		debug.SetMemoryLimit(c.limit)
		if got := c.budget(c.flag); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestPaceGC sets the target of the test process, so it does not run in parallel: with a large live heap, garbage takes
// as much memory as live objects, and with a small one twice as much.
func TestPaceGC(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	paceGC(0)
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	want := func(n uint64) {
		t.Helper()
		wait.Until(t, "GOGC has its target", func() bool {
			runtime.GC()
			metrics.Read(percent)
			return percent[0].Value.Uint64() == n
		})
	}
	want(200)
	large := make([]byte, smallHeap+1) // without a page that is written
	want(100)
	runtime.KeepAlive(large)
	want(200)
}
