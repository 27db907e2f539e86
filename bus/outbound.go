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
	// largeMessage is the size from which messages count, in bytes.
	largeMessage = 32 << 10
)

// reserve waits until a message of n bytes may be sent to a worker. The bytes are
// divided among the tenants of the callers. They count until release is called, which
// may be repeated.
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
// worker has confirmed it, also if ctx ends meanwhile: until then it counts.
func (c *Conn) sendChunk(ctx context.Context, control string, chunk []byte) error {
	release, err := c.reserve(ctx, len(chunk))
	if err != nil {
		return err
	}
	defer release()
	confirmed, cancel := context.WithTimeout(c.lost(), chunkTimeout)
	defer cancel()
	_, err = c.nc.RequestWithContext(confirmed, control, chunk)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil // the stream has ended; its last message has the reason
	}
	return errors.Join(err, ctx.Err())
}
