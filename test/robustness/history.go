package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Action is an operation of a client on a key.
type Action string

// The actions of a history.
const (
	Create Action = "create" // of a tag: fails if the key exists
	Put    Action = "put"    // of a record: replaces an earlier value
	Read   Action = "read"
	Delete Action = "delete" // succeeds if the key is absent
)

// Operation is an operation of a client with its outcome. Times are since the start of the
// workload.
type Operation struct {
	Client   int
	Action   Action
	Key      string
	Value    string        // value that was created or read; empty: the key is absent
	TTL      time.Duration // time to live of a created tag; 0: longer than the workload
	Skew     time.Duration // by which the clocks of the servers differed during the life of a created tag
	Revision uint64        // of a record: revision of a write, or minimum revision of a read
	Refused  bool          // a create failed because the key exists, or a read because its revision does not
	Unknown  bool          // error or no response: it may have been applied
	Call     time.Duration
	Returned time.Duration
}

// set stores the outcome of an operation on a record.
func (o *Operation) set(res response) {
	var body struct {
		Manifest struct{ Value string }
	}
	switch {
	case o.Action != Read && (res.status == http.StatusOK || res.status == http.StatusNoContent) && res.token.Revision > 0:
		o.Revision = res.token.Revision
	case o.Action == Read && res.status == http.StatusNotFound:
	case o.Action == Read && res.status == http.StatusBadRequest:
		o.Refused = true
	case o.Action == Read && res.status == http.StatusOK && json.Unmarshal(res.body, &body) == nil &&
		body.Manifest.Value != "":
		o.Value = body.Manifest.Value
	default:
		o.Unknown = true
	}
}

// retryDelay is less than the time after which an edge retries a request. A copy of a retried request may be
// performed after the answer: an earlier copy of a write that was refused, or a further one of a delete.
const retryDelay = 200 * time.Millisecond

// retried reports whether the edge may have retried the request.
func (o Operation) retried() bool { return o.Returned-o.Call >= retryDelay }

// repeated returns the operation of a further copy of the request, which may be performed later or never.
func (o Operation) repeated() Operation {
	o.Unknown = true
	return o
}

func (o Operation) describe() string {
	text := string(o.Action) + " " + o.Key + " " + o.Value
	if o.TTL > 0 {
		text += " for " + o.TTL.String()
	}
	if o.Refused {
		text += " refused"
	}
	if o.Unknown {
		text += " ?"
	}
	return text
}

// shares reports whether the write may have the revision of other: two deletions, or a deletion that found no
// record, during the registration of one.
func (o Operation) shares(other Operation) bool {
	concurrent := o.Call <= other.Returned && other.Call <= o.Returned
	return o.Action == Delete && other.Action == Delete || o.Action != other.Action && concurrent
}

// created returns the state after the creation of a tag.
func (o Operation) created() tagState {
	s := tagState{value: o.Value, expires: never, latest: never, skewed: o.Skew > 0}
	if o.TTL > 0 {
		s.expires = o.Call + o.TTL - o.Skew
	}
	if o.TTL > 0 && !o.Unknown {
		s.latest = o.Returned + o.TTL + expiryDelay + o.Skew
	}
	return s
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

// byKey returns the operations of each key.
func byKey(list []Operation) map[string][]Operation {
	keys := map[string][]Operation{}
	for _, o := range list {
		keys[o.Key] = append(keys[o.Key], o)
	}
	return keys
}
