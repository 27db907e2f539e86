package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// identify authenticates the caller and checks its rate limit and permission.
func (x *exchange) identify() error {
	gate := x.edge.gate
	if gate == nil || x.route.open {
		return nil
	}
	by, err := gate.Identify(x.ctx, x.r.Header["Authorization"])
	if errors.Is(err, schemas.ErrUnauthenticated) {
		x.w.Header()["Www-Authenticate"] = []string{x.challenge()}
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

// identity responds with the caller of the request.
func identity() action {
	return action{
		needs: schemas.PermissionRead, reply: reflect.TypeFor[schemas.Caller](), invalid: schemas.ErrMalformed,
		answer: func(x *exchange) error {
			body, err := json.Marshal(x.by.Caller())
			if err != nil {
				return err
			}
			x.write(http.StatusOK, mediaJSON, body)
			return nil
		},
	}
}

// recheckInterval is the interval at which the credential of an open stream is verified again.
const recheckInterval = 500 * time.Millisecond

// retryAfter sets Retry-After.
func (x *exchange) retryAfter(wait time.Duration) { setRetryAfter(x.w, wait) }

// maxRetryAfter bounds Retry-After, in seconds.
const maxRetryAfter = 3600

// setRetryAfter sets Retry-After, rounded up to seconds.
func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header()["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(min(wait.Seconds(), maxRetryAfter))))}
}

// watch verifies the caller's credential periodically and calls cancel with the
// error once it is revoked or expired. It returns after calling cancel or when ctx ends.
func (x *exchange) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(recheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := x.edge.gate.Identify(ctx, x.r.Header["Authorization"]); errors.Is(err, schemas.ErrUnauthenticated) {
			cancel(err)
			return
		}
	}
}

// seesAllTenants reports whether the caller may read data of all tenants.
func (x *exchange) seesAllTenants() bool {
	if x.edge.gate == nil {
		return true
	}
	by, err := x.edge.gate.Identify(x.ctx, x.r.Header["Authorization"])
	return err == nil && !by.Bound()
}

// newRun returns a new run name; its suffix identifies the tenants of the caller.
func (x *exchange) newRun() string {
	if !x.by.Bound() {
		return bus.NewRun()
	}
	return bus.NewRun() + tenantSuffix(x.by)
}

// ownsRun reports whether the run belongs to the caller's tenants. A caller that is not
// bound to tenants owns all.
func (x *exchange) ownsRun(run string) bool {
	return !x.by.Bound() || strings.HasSuffix(run, tenantSuffix(x.by))
}

// tenantSuffix returns a hash of the caller's tenants, so that a run name does not
// reveal them.
func tenantSuffix(by *schemas.Identity) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(by.Tenants)), "\n")))
	return "-" + hex.EncodeToString(sum[:8])
}
