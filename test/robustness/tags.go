package main

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// expiryDelay is the time after its deadline within which a tag expires.
const expiryDelay = time.Second

// CheckTags reports whether the operations are linearizable: whether each can have taken
// effect at one moment between its call and its return, with the expiry of a tag as an
// operation of the server. An operation of unknown outcome may have taken effect at any
// time after its call, or never; unknown reads are ignored. timeout is the timeout of the
// check. page writes a visualization of the history as HTML.
func CheckTags(list []Operation, timeout time.Duration) (verdict porcupine.CheckResult, page func(path string) error) {
	var last time.Duration
	for _, o := range list {
		last = max(last, o.Returned, o.Call)
	}
	var history []porcupine.Operation
	for _, o := range list {
		if o.Unknown && o.Action == Read {
			continue
		}
		if o.Unknown {
			o.Returned = last + time.Second
		}
		history = append(history, porcupine.Operation{
			ClientId: o.Client, Input: o, Output: o, Call: int64(o.Call), Return: int64(o.Returned),
		})
	}
	model := tagModel.ToModel()
	verdict, info := porcupine.CheckOperationsVerbose(model, history, timeout)
	return verdict, func(path string) error { return porcupine.VisualizePath(model, info, path) }
}

// tagState is the state of a key: the zero value is an absent tag.
type tagState struct {
	value           string
	expires, latest time.Duration // earliest and latest expiry, since the start of the workload
	skewed          bool          // the clocks of the servers differ: a replica may have the tag for longer than another
}

// tagModel models the tag of one key.
var tagModel = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		keys := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(Operation).Key
			keys[key] = append(keys[key], o)
		}
		return slices.Collect(maps.Values(keys))
	},
	Init: func() []any { return []any{tagState{}} },
	Step: func(state, _, output any) (after []any) {
		for _, s := range state.(tagState).during(output.(Operation)) {
			after = append(after, s.step(output.(Operation))...)
		}
		if state.(tagState).remains(output.(Operation)) {
			after = append(after, state)
		}
		return after
	},
	DescribeOperation: func(_, output any) string { return output.(Operation).describe() },
	DescribeState:     func(state any) string { return state.(tagState).value },
}

// during returns the states that the operation can find: the tag may have expired.
func (s tagState) during(o Operation) (states []tagState) {
	if s.value == "" || o.Call <= s.latest {
		states = append(states, s)
	}
	if s.value != "" && o.Returned >= s.expires {
		states = append(states, tagState{})
	}
	return states
}

// remains reports whether another replica may have the tag that the operation has not found. A
// replica whose clock is ahead removes a tag early; later operations may find another one.
func (s tagState) remains(o Operation) bool {
	return s.skewed && o.Returned >= s.expires && (o.Action == Delete || o.Action == Read && o.Value == "")
}

// step returns the possible states after the operation; none if s does not permit it.
func (s tagState) step(o Operation) (after []any) {
	switch {
	case o.Action == Read && o.Value == s.value, o.Action == Create && o.Refused && s.value != "":
		after = append(after, s)
	case o.Action == Create && !o.Refused && s.value == "":
		after = append(after, o.created())
	case o.Action == Delete:
		after = append(after, tagState{})
	}
	if o.Unknown {
		after = append(after, s)
	}
	return after
}

// never is later than any operation.
const never = time.Duration(math.MaxInt64 / 2)

// checkKeys returns the keys whose history is not linearizable.
func checkKeys(list []Operation, timeout time.Duration) (keys []string) {
	for key, operations := range byKey(list) {
		if verdict, _ := CheckTags(operations, timeout); verdict == porcupine.Illegal {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
