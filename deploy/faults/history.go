package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Action is what a client does to a key.
type Action string

// The actions of a history.
const (
	Create Action = "create" // once only
	Read   Action = "read"
	Delete Action = "delete" // absent is no error
)

// Operation is what a client did, and was told.
type Operation struct {
	Client   int
	Action   Action
	Key      string
	Value    string // that is created, or was read; empty: nothing is there
	Refused  bool   // of a create: something is there
	Unknown  bool   // whether it was done: it was answered with an error, or not at all
	Call     time.Duration
	Returned time.Duration // since the beginning
}

// History is what clients did. It may be used concurrently.
type History struct {
	mu   sync.Mutex
	list []Operation
}

// Add notes an operation.
func (h *History) Add(o Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, o)
}

// Operations are those noted so far.
func (h *History) Operations() []Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

// Check says whether the operations can be put in an order in which each was
// done at one moment between its call and its return. An operation of unknown
// outcome may have been done at any time after its call, or never; an unknown
// read says nothing. page writes what was looked at, as a page of HTML.
func Check(list []Operation, patience time.Duration) (verdict porcupine.CheckResult, page func(path string) error) {
	var last time.Duration
	for _, o := range list {
		last = max(last, o.Returned, o.Call)
	}
	var history []porcupine.Operation
	for _, o := range list {
		if o.Unknown && o.Action == Read {
			continue
		}
		returned := o.Returned
		if o.Unknown {
			returned = last + time.Second
		}
		history = append(history, porcupine.Operation{ClientId: o.Client, Input: o, Output: o, Call: int64(o.Call), Return: int64(returned)})
	}
	model := register.ToModel()
	verdict, info := porcupine.CheckOperationsVerbose(model, history, patience)
	return verdict, func(path string) error { return porcupine.VisualizePath(model, info, path) }
}

// register is a key: nothing is there, or the value that was created.
var register = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(Operation).Key
			byKey[key] = append(byKey[key], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{""} },
	Step: func(state, _, output any) []any { return step(state.(string), output.(Operation)) },
	DescribeOperation: func(_, output any) string {
		o := output.(Operation)
		text := string(o.Action) + " " + o.Key + " " + o.Value
		if o.Refused {
			text += " refused"
		}
		if o.Unknown {
			text += " ?"
		}
		return text
	},
}

// step is what may be there after the operation, if it may follow the state.
func step(state string, o Operation) []any {
	var after []any
	switch {
	case o.Action == Read && o.Value == state, o.Action == Create && o.Refused && state != "":
		after = append(after, state)
	case o.Action == Create && !o.Refused && state == "":
		after = append(after, o.Value)
	case o.Action == Delete:
		after = append(after, "")
	}
	if o.Unknown && !slices.Contains(after, any(state)) {
		after = append(after, state)
	}
	return after
}
