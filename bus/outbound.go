package bus

import (
	"context"
	"sync"
	"time"
)

const (
	// interestTimeout bounds the time until the subscription of a worker for the chunks of a
	// body is known to all servers of a cluster.
	interestTimeout = time.Second
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

// sendChunk sends a chunk of a body to the subject and returns when the worker has received it
// and grants the next one.
func (c *Conn) sendChunk(ctx context.Context, subject string, chunk []byte) error {
	bulk, err := c.bulk()
	if err != nil {
		return err
	}
	lost := c.lost()
	confirmed, cancel := context.WithTimeout(ctx, 2*grantTimeout)
	defer cancel()
	defer context.AfterFunc(lost, cancel)()
	until := time.Now().Add(interestTimeout)
	for {
		_, err = bulk.RequestWithContext(confirmed, subject, chunk)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case lost.Err() != nil:
			return errConnectionLost
		case !undelivered(err):
			return err
		case time.Now().After(until):
			return nil // the stream has ended; its last message has the reason
		}
		select {
		case <-time.After(minRetryInterval):
		case <-confirmed.Done():
		}
	}
}
