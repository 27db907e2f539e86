package bus

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/schemas"
)

// NewRun returns a new, unguessable run name.
func NewRun() string { return rand.Text() }

// NameRun returns name with a suffix that identifies the tenants of the caller, for OwnsRun. A
// caller that is not bound to tenants has none.
func NameRun(by *schemas.Identity, name string) string {
	if !by.Bound() {
		return name
	}
	return name + tenantSuffix(by)
}

// OwnsRun reports whether the run belongs to the tenants of the caller. A caller that is not
// bound to tenants owns all runs.
func OwnsRun(by *schemas.Identity, run string) bool {
	return !by.Bound() || strings.HasSuffix(run, tenantSuffix(by))
}

// tenantSuffix returns a hash of the caller's tenants, so that a run name does not
// reveal them.
func tenantSuffix(by *schemas.Identity) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(by.Tenants)), "\n")))
	return "-" + hex.EncodeToString(sum[:8])
}

// StoredRun is a run with stored events.
type StoredRun struct {
	Name    string
	State   string // schemas.RunRunning, …
	Started time.Time
	Updated time.Time // when its last events were stored
}

// Ended reports whether the last event of the run is stored.
func (r StoredRun) Ended() bool { return r.State != schemas.RunRunning }

// ErrCursor is returned by PageOfRuns for a cursor that it did not return.
var ErrCursor = errors.New("invalid cursor")

// PageOfRuns sorts the runs, the latest first by the time that at returns, and returns at most
// limit of them after the cursor (empty: from the first one), and the cursor of the next page
// (empty: there is none).
func PageOfRuns(runs []StoredRun, at func(StoredRun) time.Time, cursor string, limit int) (page []StoredRun, next string, err error) {
	position := func(r StoredRun) runPosition { return runPosition{at(r).UnixNano(), r.Name} }
	slices.SortFunc(runs, func(a, b StoredRun) int { return position(a).compare(position(b)) })
	if cursor != "" {
		after, err := parseRunPosition(cursor)
		if err != nil {
			return nil, "", err
		}
		first, found := slices.BinarySearchFunc(runs, after, func(r StoredRun, after runPosition) int { return position(r).compare(after) })
		if found {
			first++
		}
		runs = runs[first:]
	}
	if len(runs) <= limit {
		return runs, "", nil
	}
	return runs[:limit], position(runs[limit-1]).String(), nil
}

// runPosition is a position in a list of runs, the latest first.
type runPosition struct {
	nanos int64 // since 1970
	name  string
}

func (p runPosition) compare(q runPosition) int {
	return cmp.Or(cmp.Compare(q.nanos, p.nanos), strings.Compare(p.name, q.name))
}

// String returns the cursor of the page after the position.
func (p runPosition) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.nanos, 10) + " " + p.name))
}

func parseRunPosition(cursor string) (runPosition, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return runPosition{}, ErrCursor
	}
	nanos, name, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil {
		return runPosition{}, ErrCursor
	}
	return runPosition{n, name}, nil
}
