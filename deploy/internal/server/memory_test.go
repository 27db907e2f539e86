package server

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// TestMemoryShare sets the limit of the test process, so it does not run in parallel.
func TestMemoryShare(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, c := range []struct {
		name  string
		limit int64
		mib   int
		want  int64
	}{
		{"a flag takes precedence", 1 << 30, 100, 100 << 20},
		{"by default a quarter of the memory limit", 1 << 30, 0, 256 << 20},
		{"a quarter of 4 GiB without a limit", math.MaxInt64, 0, 1 << 30},
	} {
		debug.SetMemoryLimit(c.limit)
		if got := memoryShare(c.mib, 4); got > c.want || c.limit != math.MaxInt64 && got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestRecordsShare sets the limit of the test process, so it does not run in parallel.
func TestRecordsShare(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	system, err := memlimit.FromSystem()
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name  string
		limit int64
		mib   int
		want  int64
	}{
		{"a flag takes precedence", 1 << 30, 100, 100 << 20},
		{"by default a 32nd of the memory limit", 1 << 30, 0, 32 << 20},
		{"a 32nd of the memory without a limit", math.MaxInt64, 0, int64(system) / 32},
	} {
		debug.SetMemoryLimit(c.limit)
		if got := recordsShare(c.mib); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
