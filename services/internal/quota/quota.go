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

// Limit is the storage quota of each tenant for records or tags. The global
// scope counts as one tenant. A limit of 0 means unlimited.
type Limit struct {
	Use
	Things    string // "records"
	CountFlag string // "--tenant-records"
	BytesFlag string
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
	if l.Bytes > 0 && more.Bytes > 0 && used.Bytes+more.Bytes > l.Bytes {
		return schemas.ErrTooManyRequests.Because(fmt.Sprintf("%s uses %d of %d bytes of %s; this write needs %d: delete %s or raise %s",
			scope, used.Bytes, l.Bytes, l.Things, more.Bytes, l.Things, l.BytesFlag))
	}
	return nil
}

// Of returns the quota of a tenant with the usage.
func (l Limit) Of(used Use) schemas.Quota {
	return schemas.Quota{Count: used.Count, Bytes: used.Bytes, MaxCount: l.Count, MaxBytes: l.Bytes}
}

// Near reports whether a tenant uses more than half of its limit.
func (l Limit) Near(used Use) bool {
	return l.Count > 0 && used.Count > l.Count/2 || l.Bytes > 0 && used.Bytes > l.Bytes/2
}
