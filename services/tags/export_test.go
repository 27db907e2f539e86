package tags

import (
	"context"

	"cairn/bus"
)

// Create sets up the bucket and opens it.
func Create(ctx context.Context, conn *bus.Conn, settings Settings) (*Store, error) {
	if err := Setup(ctx, conn.JetStream(), settings); err != nil {
		return nil, err
	}
	return Open(ctx, conn, settings)
}
