package bus

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

const (
	// outboundBytes bounds the large messages that a connection has sent to workers and
	// that no worker has confirmed, in bytes. A server closes the connection of a worker
	// that has more than max_pending (64 MiB by default) still to read, and all requests
	// to that worker fail.
	outboundBytes = 32 << 20
	// largeMessage is the minimum size of the messages that outboundBytes bounds, in bytes.
	largeMessage = 32 << 10
)

// reserve waits until a message of n bytes may be sent to a worker. The bytes are
// divided among the tenants of the callers. They count towards
// outboundBytes until release is called, which may be called more than once.
func (c *Conn) reserve(ctx context.Context, n int) (release func(), err error) {
	if n < largeMessage {
		return func() {}, nil
	}
	size, tenant := min(int64(n), outboundBytes), ShareKey(Identity(ctx), nil)
	if err := c.outbound.Wait(ctx, tenant, size); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { c.outbound.Release(tenant, size) }), nil
}

// sendChunk sends a chunk of a body to the worker's control subject and returns when the
// worker has confirmed it, even if ctx ends meanwhile: until then the chunk counts towards
// outboundBytes.
func (c *Conn) sendChunk(ctx context.Context, control string, chunk []byte) error {
	release, err := c.reserve(ctx, len(chunk))
	if err != nil {
		return err
	}
	defer release()
	lost := c.lost()
	confirmed, cancel := context.WithTimeout(lost, chunkTimeout)
	defer cancel()
	_, err = c.nc.RequestWithContext(confirmed, control, chunk)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, nats.ErrNoResponders):
		return nil // the stream has ended; its last message has the reason
	case err != nil && lost.Err() != nil:
		return errConnectionLost
	}
	return err
}
