package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Action is an operation of a client on a key.
type Action string

// The actions of a history.
const (
	Create Action = "create" // fails if the key exists
	Read   Action = "read"
	Delete Action = "delete" // succeeds if the key is absent
)

// Operation is an operation of a client with its outcome.
type Operation struct {
	Client   int
	Action   Action
	Key      string
	Value    string // value that was created or read; empty: the key is absent
	Refused  bool   // a create failed because the key exists
	Unknown  bool   // error or no response: it may have been applied
	Call     time.Duration
	Returned time.Duration // like Call, since the start of the workload
}

// History is a list of operations. It may be used concurrently.
type History struct {
	mu   sync.Mutex
	list []Operation
}

// Add appends an operation.
func (h *History) Add(o Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, o)
}

// Operations returns a copy of the list.
func (h *History) Operations() []Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

// Check reports whether the operations are linearizable: whether each can have taken effect
// at one moment between its call and its return. An operation of unknown outcome may have
// taken effect at any time after its call, or never; unknown reads are ignored. timeout is
// the timeout of the check. page writes a visualization of the history as HTML.
func Check(list []Operation, timeout time.Duration) (verdict porcupine.CheckResult, page func(path string) error) {
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
	verdict, info := porcupine.CheckOperationsVerbose(model, history, timeout)
	return verdict, func(path string) error { return porcupine.VisualizePath(model, info, path) }
}

// register models a key: absent (the empty string), or the value that was created.
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

// step returns the possible states after the operation; none if state does not permit it.
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
