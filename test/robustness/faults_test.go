package main

import (
	"testing"
	"time"
)

// A run may be lost only with a majority of the nodes, or with its worker at its start.
func TestMayLose(t *testing.T) {
	t.Parallel()
	run := Analysis{Began: 10 * time.Second, Ended: 20 * time.Second}
	fault := func(s time.Duration) Fault {
		return Fault{At: s * time.Second, Ended: (s + 5) * time.Second, Healthy: (s + 8) * time.Second}
	}
	majority := func(f Fault) Fault { f.Majority = true; return f }
	for name, row := range map[string]struct {
		fault Fault
		want  bool
	}{
		"a node is partitioned during the run":      {fault(12), false},
		"a majority fails during the run":           {majority(fault(15)), true},
		"a majority recovers when the run begins":   {majority(fault(4)), true},
		"a majority has recovered before the run":   {majority(fault(1)), false},
		"a majority fails after the end of the run": {majority(fault(21)), false},
	} {
		if got := row.fault.mayLose(run); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}

// The expiry of tags is uncertain only during a fault that skews clocks.
func TestSkewed(t *testing.T) {
	t.Parallel()
	const skew = 11 * time.Second
	fault := Fault{At: 20 * time.Second, Ended: 30 * time.Second, Skew: skew}
	for name, row := range map[string]struct {
		tag  Operation
		want time.Duration
	}{
		"it has expired before the fault":                {expiring(op(Create, "a", 7, 8)), 0},
		"it expires during the fault":                    {expiring(op(Create, "a", 10, 11)), skew},
		"it is created during the fault":                 {expiring(op(Create, "a", 29, 30)), skew},
		"it has a time in the future, after the fault":   {expiring(op(Create, "a", 40, 41)), skew},
		"it is created later":                            {expiring(op(Create, "a", 41, 42)), 0},
		"it does not expire during the fault":            {op(Create, "a", 21, 22), 0},
		"its creation returns before the fault but late": {expiring(op(Create, "a", 7, 19)), skew},
	} {
		if got := fault.skewed([]Operation{row.tag})[0].Skew; got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}
