package faults

import (
	"slices"
	"time"
)

// Kinds of requests. Records are resolved by id at a constant rate, whether earlier
// requests have completed or not.
const (
	Written    = "tag written"
	Reading    = "tag read"
	Registered = "record registered"
	Resolved   = "record resolved"
)

// Kinds returns all kinds of requests.
func Kinds() []string { return []string{Written, Reading, Registered, Resolved} }

// Sample is a request that reached a node. Call is the time since the start of the workload.
type Sample struct {
	Node   int
	Call   time.Duration
	Took   time.Duration
	Failed bool // an error, or no response
}

// Effect is the effect of a fault on requests of one kind at the other nodes.
type Effect struct {
	Asked, Failed int
	P99           time.Duration
	None          time.Duration // longest time without a successful response
}

// EffectOf returns the effect on the requests between from and until at all nodes except
// but; -1 excludes none.
func EffectOf(list []Sample, but int, from, until time.Duration) (e Effect) {
	var times, answered []time.Duration
	for _, s := range list {
		if s.Node == but || s.Call < from || s.Call >= until {
			continue
		}
		e.Asked++
		times = append(times, s.Took)
		if s.Failed {
			e.Failed++
		} else {
			answered = append(answered, s.Call+s.Took)
		}
	}
	if slices.Sort(times); len(times) > 0 {
		e.P99 = times[(len(times)*99+99)/100-1]
	}
	e.None = gap(answered, from, until)
	return e
}

// gap returns the longest time between from and until without an element of list.
func gap(list []time.Duration, from, until time.Duration) (longest time.Duration) {
	slices.Sort(list)
	last := from
	for _, at := range list {
		if at > from && at < until {
			longest, last = max(longest, at-last), at
		}
	}
	return max(longest, until-last)
}
