package faults

import (
	"slices"
	"time"
)

// What clients do, as Result counts it. Resolved are by id, and asked at a rate
// whether the ones before were answered or not.
const (
	Written    = "tag written"
	Reading    = "tag read"
	Registered = "record registered"
	Resolved   = "record resolved"
)

// Kinds are what clients do.
func Kinds() []string { return []string{Written, Reading, Registered, Resolved} }

// Sample is a request that reached a node, and when, since the beginning.
type Sample struct {
	Node   int
	Call   time.Duration
	Took   time.Duration
	Failed bool // to be answered as it should be
}

// Effect is what a fault did to requests of one kind at the nodes that it was not of.
type Effect struct {
	Asked, Failed int
	P99           time.Duration
	None          time.Duration // longest time in which none was answered
}

// EffectOf is the effect on the requests between from and until at all nodes but
// the one; -1: at all.
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

// gap is the longest time between from and until in which nothing is.
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
