package tags

import (
	"context"

	"cairn/bus"
	"cairn/schemas"
)

// Create sets up the bucket and opens it.
func Create(ctx context.Context, conn *bus.Conn, settings Settings) (*Store, error) {
	if err := Setup(ctx, conn.JetStream(), settings); err != nil {
		return nil, err
	}
	return Open(ctx, conn, settings)
}

// Quota returns the quota of a tenant and what it stores.
func (s *Store) Quota(tenant string) schemas.Quota { return s.counter.Quota(tenant) }
