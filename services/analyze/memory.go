package analyze

import (
	"context"

	"cairn/bus/admission"
	"cairn/schemas"
)

const (
	// runMemory is the memory of one run besides its body, in bytes: the conversation
	// with tool results, the stream and its goroutines. 500 concurrent runs on small
	// estates took 63 KiB of heap and 150 KiB of RSS each, in a process with an edge.
	runMemory = 192 << 10
	// bodyFactor is the memory of a run for each byte of its body: the body, the text
	// of the estate without its escapes, the offsets of records and fields, and the
	// columns. With all fields of bodies of 1 to 10 MB read, records of several fields
	// took 2.2 to 3.1 bytes per byte, and an array of one-digit numbers 4.2. An estate
	// that needs more, such as 10,000 small arrays (6.6 at 1 MB), acquires it after
	// parsing.
	bodyFactor = 5
)

var errMemory = schemas.ErrUnavailable.Because("memory budget for analyses exhausted (--analysis-memory)")

// reservation is memory that a run holds for its tenant. It is not safe for
// concurrent use.
type reservation struct {
	pool   *admission.Pool
	tenant string
	held   int64
}

// resize changes the reservation to n bytes and reports whether they were
// granted. It always grants a reduction.
func (r *reservation) resize(n int64) bool {
	switch {
	case n < r.held:
		r.pool.Release(r.tenant, r.held-n)
	case n > r.held && !r.pool.Acquire(r.tenant, n-r.held):
		return false
	}
	r.held = n
	return true
}

// Acquire implements estate.Memory.
func (r *reservation) Acquire(n int64) bool { return r.resize(r.held + n) }

// Release implements estate.Memory.
func (r *reservation) Release(n int64) { r.resize(r.held - n) }

// split moves n bytes of the reservation into a new one.
func (r *reservation) split(n int64) reservation {
	r.held -= n
	return reservation{r.pool, r.tenant, n}
}

type reservationKey struct{}

// reserved returns the reservation of the run.
func reserved(ctx context.Context) *reservation {
	return ctx.Value(reservationKey{}).(*reservation)
}
