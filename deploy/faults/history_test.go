package faults_test

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"cairn/deploy/faults"
)

// op returns an operation on one key; call and returned are in seconds.
func op(action faults.Action, value string, call, returned time.Duration) faults.Operation {
	return faults.Operation{Action: action, Key: "k", Value: value, Call: call * time.Second, Returned: returned * time.Second}
}

func unknown(o faults.Operation) faults.Operation { o.Unknown = true; return o }
func refused(o faults.Operation) faults.Operation { o.Refused = true; return o }

// Linearizable histories are accepted, and others rejected.
func TestHistories(t *testing.T) {
	t.Parallel()
	const create, read, remove = faults.Create, faults.Read, faults.Delete
	for _, row := range []struct {
		name string
		list []faults.Operation
		want porcupine.CheckResult
	}{
		{"a key is created, read and deleted", []faults.Operation{op(create, "a", 1, 2), op(read, "a", 3, 4), op(remove, "", 5, 6),
			op(read, "", 7, 8)}, porcupine.Ok},
		{"a read at the time of a write sees either", []faults.Operation{op(create, "a", 1, 5), op(read, "", 2, 3), op(read, "a", 3, 4)},
			porcupine.Ok},
		{"a write of unknown outcome was done, late", []faults.Operation{unknown(op(create, "a", 1, 2)), op(read, "", 3, 4),
			op(read, "a", 5, 6)}, porcupine.Ok},
		{"or never", []faults.Operation{unknown(op(create, "a", 1, 2)), op(create, "b", 3, 4), op(read, "b", 5, 6)}, porcupine.Ok},
		{"a delete of unknown outcome", []faults.Operation{op(create, "a", 1, 2), unknown(op(remove, "", 3, 4)), op(read, "a", 5, 6),
			op(read, "", 7, 8)}, porcupine.Ok},
		{"an unknown read says nothing", []faults.Operation{op(create, "a", 1, 2), unknown(op(read, "", 3, 4))}, porcupine.Ok},
		{"a create that is refused, of what is there", []faults.Operation{op(create, "a", 1, 2), refused(op(create, "b", 3, 4))}, porcupine.Ok},
		{"a write that was acknowledged is lost", []faults.Operation{op(create, "a", 1, 2), op(read, "", 3, 4)}, porcupine.Illegal},
		{"a read is stale", []faults.Operation{op(create, "a", 1, 2), op(remove, "", 3, 4), op(read, "a", 5, 6)}, porcupine.Illegal},
		{"two reads see one after the other", []faults.Operation{op(create, "a", 1, 9), op(read, "a", 2, 3), op(read, "", 4, 5)},
			porcupine.Illegal},
		{"a key is created twice", []faults.Operation{op(create, "a", 1, 4), op(create, "b", 2, 3)}, porcupine.Illegal},
		{"a create is refused, and nothing is there", []faults.Operation{refused(op(create, "a", 1, 2))}, porcupine.Illegal},
		{"what nobody wrote is read", []faults.Operation{op(create, "a", 1, 2), op(read, "b", 3, 4)}, porcupine.Illegal},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := faults.Check(row.list, time.Minute); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}
