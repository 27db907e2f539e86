package bus

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/bus/replay"
	"cairn/schemas"
)

// NewRun returns a new, unguessable run name.
func NewRun() string { return rand.Text() }

// NameRun returns name with a suffix that identifies the tenants of the caller, for OwnsRun.
func NameRun(caller *schemas.Identity, name string) string { return name + tenantSuffix(caller) }

// OwnsRun reports whether the run belongs to the tenants of the caller. A caller that is not
// bound to tenants owns all runs.
func OwnsRun(caller *schemas.Identity, run string) bool {
	return strings.HasSuffix(run, tenantSuffix(caller))
}

// tenantSuffix returns a hash of the caller's tenants, so that a run name does not reveal them. It is
// empty if the caller is not bound to tenants.
func tenantSuffix(caller *schemas.Identity) string {
	if !caller.Bound() {
		return ""
	}
	sum := sha256.Sum256([]byte(AdmissionKey(caller, nil)))
	return "-" + hex.EncodeToString(sum[:8])
}

// StoredRun is a run with stored events.
type StoredRun = replay.Run

// ErrCursor is returned by PageOfRuns for a cursor that it did not return.
var ErrCursor = errors.New("invalid cursor")

// PageOfRuns sorts the runs, the latest first by the time that timeOf returns, and returns at most
// limit of them after the cursor (empty: from the first one), and the cursor of the next page
// (empty: there is none).
func PageOfRuns(runs []StoredRun, timeOf func(StoredRun) time.Time, cursor string,
	limit int) (page []StoredRun, next string, err error) {
	position := func(r StoredRun) string { return fmt.Sprintf("%019d %s", math.MaxInt64-timeOf(r).UnixNano(), r.Name) }
	slices.SortFunc(runs, func(a, b StoredRun) int {
		return cmp.Or(timeOf(b).Compare(timeOf(a)), strings.Compare(a.Name, b.Name))
	})
	if cursor != "" {
		last, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil || !positionPattern.Match(last) {
			return nil, "", ErrCursor
		}
		runs = slices.DeleteFunc(runs, func(r StoredRun) bool { return position(r) <= string(last) })
	}
	if len(runs) <= limit {
		return runs, "", nil
	}
	return runs[:limit], base64.RawURLEncoding.EncodeToString([]byte(position(runs[limit-1]))), nil
}

// positionPattern matches the position of a run in a list, the latest first: the time from its start
// to the year 2262, in nanoseconds, and its name.
var positionPattern = regexp.MustCompile(`^\d{19} `)
