// Package quota counts what tenants store, and enforces their quotas.
package quota

import (
	"fmt"

	"cairn/schemas"
)

// Amount is a number of stored tags or records and their size.
type Amount struct{ Count, Bytes int64 }

// Plus returns the sum of a and b.
func (a Amount) Plus(b Amount) Amount { return Amount{a.Count + b.Count, a.Bytes + b.Bytes} }

// Minus returns the difference of a and b.
func (a Amount) Minus(b Amount) Amount { return Amount{a.Count - b.Count, a.Bytes - b.Bytes} }

// maxShare is the percentage of the storage of a bucket that one tenant may use, so that it cannot
// cause the writes of the others to fail.
const maxShare = 80

// Limit is the storage quota of each tenant for records or tags. The global
// scope counts as one tenant. A limit of 0 means unlimited.
type Limit struct {
	Amount
	Things    string // "records"
	CountFlag string // "--tenant-records"
	BytesFlag string
	Storage   func() int64 // current size limit of the bucket in bytes; nil, or at most 0: unlimited
}

// maxBytes returns the limit in bytes, 0 if unlimited, and whether it is the share of the bucket and not
// the quota.
func (l Limit) maxBytes() (limit int64, shared bool) {
	if l.Storage != nil {
		limit = max(0, l.Storage()) / 100 * maxShare
	}
	if limit > 0 && (l.Bytes == 0 || limit < l.Bytes) {
		return limit, true
	}
	return l.Bytes, false
}

// check returns an error that names the exceeded limit if stored plus more exceeds a limit of the
// tenant. An empty tenant is the global scope.
func (l Limit) check(tenant string, stored, amount Amount) error {
	scope := "the global scope"
	if tenant != "" {
		scope = "tenant " + tenant
	}
	if l.Count > 0 && amount.Count > 0 && stored.Count+amount.Count > l.Count {
		return schemas.ErrTooManyRequests.Because(fmt.Sprintf("%s uses %d of %d %s; delete %s or raise %s",
			scope, stored.Count, l.Count, l.Things, l.Things, l.CountFlag))
	}
	if limit, shared := l.maxBytes(); limit > 0 && amount.Bytes > 0 && stored.Bytes+amount.Bytes > limit {
		share, flag := "", l.BytesFlag
		if shared {
			share, flag = fmt.Sprintf(", %d %% of the storage of the bucket", maxShare), "--storage-limit"
		}
		return schemas.ErrTooManyRequests.Because(
			fmt.Sprintf("%s uses %d of %d bytes of %s%s; this write needs %d: delete %s or raise %s",
				scope, stored.Bytes, limit, l.Things, share, amount.Bytes, l.Things, flag))
	}
	return nil
}

// of returns the quota of a tenant that stores the amount.
func (l Limit) of(stored Amount) schemas.Quota {
	limit, _ := l.maxBytes()
	return schemas.Quota{Count: max(0, stored.Count), Bytes: max(0, stored.Bytes), MaxCount: l.Count, MaxBytes: limit}
}

// near reports whether the amount is more than half of the limit.
func (l Limit) near(stored Amount) bool {
	limit, _ := l.maxBytes()
	return l.Count > 0 && stored.Count > l.Count/2 || limit > 0 && stored.Bytes > limit/2
}
