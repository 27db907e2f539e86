package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/bus"
	"cairn/schemas"
)

// identify finds out who asks, and whether it may ask this, now.
func (x *exchange) identify() error {
	gate := x.edge.gate
	if gate == nil || x.route.open {
		return nil
	}
	by, err := gate.Identify(x.ctx, x.r.Header["Authorization"])
	if errors.Is(err, schemas.ErrUnauthenticated) {
		x.w.Header()["Www-Authenticate"] = []string{`Bearer realm="cairn"`}
	}
	if err != nil {
		return err
	}
	x.by, x.ctx = by, bus.WithIdentity(x.ctx, by)
	if wait, err := gate.Admit(by); err != nil {
		x.retryAfter(wait)
		return err
	}
	return by.Authorize(x.route.needs)
}

// recheck is how often it is looked whether who has a stream open is still let in.
const recheck = 500 * time.Millisecond

// retryAfter announces when the caller may send its next request.
func (x *exchange) retryAfter(wait time.Duration) {
	x.w.Header()["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(wait.Seconds())))}
}

// watch cancels, saying why, once the credential of the caller is taken back or
// has ended. It returns then, or when ctx ends.
func (x *exchange) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	again := time.NewTicker(recheck)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if _, err := x.edge.gate.Identify(ctx, x.r.Header["Authorization"]); errors.Is(err, schemas.ErrUnauthenticated) {
			cancel(err)
			return
		}
	}
}

// sees reports whether the caller may know what concerns all tenants.
func (x *exchange) sees() bool {
	if x.edge.gate == nil {
		return true
	}
	by, err := x.edge.gate.Identify(x.ctx, x.r.Header["Authorization"])
	return err == nil && !by.Bound()
}

// newRun names a run of the caller: its end says of which tenants it is.
func (x *exchange) newRun() string {
	if !x.by.Bound() {
		return bus.NewRun()
	}
	return bus.NewRun() + mark(x.by)
}

// owns reports whether the run is of the caller, or of nobody in particular
// where nobody is asked.
func (x *exchange) owns(run string) bool {
	return !x.by.Bound() || strings.HasSuffix(run, mark(x.by))
}

// mark stands for the tenants of a caller, and does not name them.
func mark(by *schemas.Identity) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(by.Tenants)), "\n")))
	return "-" + hex.EncodeToString(sum[:8])
}
