package main

import (
	"testing"
	"time"
)

// A run may be lost only with a majority of the nodes, or with its worker at its start.
func TestMayLose(t *testing.T) {
	t.Parallel()
	run := Analysis{Began: 10 * time.Second, Ended: 20 * time.Second}
	at := func(s time.Duration) Fault {
		return Fault{At: s * time.Second, Ended: (s + 5) * time.Second, Healthy: (s + 8) * time.Second}
	}
	majority := func(f Fault) Fault { f.Majority = true; return f }
	for name, row := range map[string]struct {
		fault Fault
		want  bool
	}{
		"a node is partitioned during the run":      {at(12), false},
		"a majority fails during the run":           {majority(at(15)), true},
		"a majority recovers when the run begins":   {majority(at(4)), true},
		"a majority has recovered before the run":   {majority(at(1)), false},
		"a majority fails after the end of the run": {majority(at(21)), false},
	} {
		if got := row.fault.mayLose(run); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}
