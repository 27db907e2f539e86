// Package quota bounds what one tenant may store.
package quota

import (
	"fmt"

	"cairn/schemas"
)

// Use is the storage usage of a tenant.
type Use struct{ Count, Bytes int64 }

// Limit is the storage quota of each tenant for records or tags. The global
// scope is a tenant of its own. A limit of 0 is none.
type Limit struct {
	Use
	Things    string // "records"
	CountFlag string // "--tenant-records"
	BytesFlag string
}

// Check returns nil if the tenant, which stores held, may store more, or the error
// that names what it exceeds. An empty tenant is the global scope.
func (l Limit) Check(tenant string, held, more Use) error {
	whose := "the global scope"
	if tenant != "" {
		whose = "tenant " + tenant
	}
	if l.Count > 0 && more.Count > 0 && held.Count+more.Count > l.Count {
		return schemas.ErrTooManyRequests.Because(fmt.Sprintf("%s holds %d of %d %s; delete %s or raise %s",
			whose, held.Count, l.Count, l.Things, l.Things, l.CountFlag))
	}
	if l.Bytes > 0 && more.Bytes > 0 && held.Bytes+more.Bytes > l.Bytes {
		return schemas.ErrTooManyRequests.Because(fmt.Sprintf("%s holds %d of %d bytes of %s, and this one has %d; delete %s or raise %s",
			whose, held.Bytes, l.Bytes, l.Things, more.Bytes, l.Things, l.BytesFlag))
	}
	return nil
}

// Near reports whether a tenant uses more than half of its limit.
func (l Limit) Near(held Use) bool {
	return l.Count > 0 && held.Count > l.Count/2 || l.Bytes > 0 && held.Bytes > l.Bytes/2
}
