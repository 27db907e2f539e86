package main

import (
	"slices"
	"time"
)

// Kinds of requests. Records are resolved by id at a constant rate, whether earlier
// requests have completed or not. An analysis takes 6 s, and has failed if it was not
// completed, even by resuming it.
const (
	Written    = "tag written"
	Reading    = "tag read"
	Registered = "record registered"
	Resolved   = "record resolved"
	Analyzed   = "analysis"
)

// Kinds returns all kinds of requests.
func Kinds() []string { return []string{Written, Reading, Registered, Resolved, Analyzed} }

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
	Slow          int // took more than slowTime, or failed
	P99           time.Duration
	None          time.Duration // longest time without a successful response
}

// slowTime is the time after which a request is slow.
const slowTime = time.Second

// EffectOf returns the effect on the requests between from and until at all nodes that
// are not faulty.
func EffectOf(list []Sample, faulty []int, from, until time.Duration) (e Effect) {
	var times, answered []time.Duration
	for _, s := range list {
		if slices.Contains(faulty, s.Node) || s.Call < from || s.Call >= until {
			continue
		}
		e.Asked++
		times = append(times, s.Took)
		if s.Failed || s.Took > slowTime {
			e.Slow++
		}
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
	for _, moment := range list {
		if moment > from && moment < until {
			longest, last = max(longest, moment-last), moment
		}
	}
	return max(longest, until-last)
}
