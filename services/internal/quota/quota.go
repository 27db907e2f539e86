// Package quota enforces the storage quotas of tenants.
package quota

import (
	"fmt"

	"cairn/schemas"
)

// Use is the storage usage of a tenant.
type Use struct{ Count, Bytes int64 }

// Plus returns the sum of u and other.
func (u Use) Plus(other Use) Use { return Use{u.Count + other.Count, u.Bytes + other.Bytes} }

// Minus returns the difference of u and other.
func (u Use) Minus(other Use) Use { return Use{u.Count - other.Count, u.Bytes - other.Bytes} }

// maxShare is the percentage of the storage of a bucket that one tenant may use, so that it cannot
// cause the writes of the others to fail.
const maxShare = 80

// Limit is the storage quota of each tenant for records or tags. The global
// scope counts as one tenant. A limit of 0 means unlimited.
type Limit struct {
	Use
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

// Check returns an error that names the exceeded limit if used plus more exceeds a limit of the
// tenant. An empty tenant is the global scope.
func (l Limit) Check(tenant string, used, more Use) error {
	scope := "the global scope"
	if tenant != "" {
		scope = "tenant " + tenant
	}
	if l.Count > 0 && more.Count > 0 && used.Count+more.Count > l.Count {
		return schemas.ErrTooManyRequests.Because(fmt.Sprintf("%s uses %d of %d %s; delete %s or raise %s",
			scope, used.Count, l.Count, l.Things, l.Things, l.CountFlag))
	}
	if limit, shared := l.maxBytes(); limit > 0 && more.Bytes > 0 && used.Bytes+more.Bytes > limit {
		of, flag := "", l.BytesFlag
		if shared {
			of, flag = fmt.Sprintf(", %d %% of the storage of the bucket", maxShare), "--storage-limit"
		}
		return schemas.ErrTooManyRequests.Because(fmt.Sprintf("%s uses %d of %d bytes of %s%s; this write needs %d: delete %s or raise %s",
			scope, used.Bytes, limit, l.Things, of, more.Bytes, l.Things, flag))
	}
	return nil
}

// Of returns the quota of a tenant with the usage.
func (l Limit) Of(used Use) schemas.Quota {
	limit, _ := l.maxBytes()
	return schemas.Quota{Count: used.Count, Bytes: used.Bytes, MaxCount: l.Count, MaxBytes: limit}
}

// Near reports whether a tenant uses more than half of its limit.
func (l Limit) Near(used Use) bool {
	limit, _ := l.maxBytes()
	return l.Count > 0 && used.Count > l.Count/2 || limit > 0 && used.Bytes > limit/2
}
