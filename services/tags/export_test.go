package tags

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// Create sets up the bucket and opens it.
func Create(ctx context.Context, js jetstream.JetStream, settings Settings) (*Store, error) {
	if err := Setup(ctx, js, settings); err != nil {
		return nil, err
	}
	return Open(ctx, js, settings)
}
