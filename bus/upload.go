package bus

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"cairn/bus/admission"
	"cairn/schemas"
)

const (
	// chunkTimeout bounds the wait for the next chunk of a body.
	chunkTimeout = 5 * time.Second
	// grantTimeout bounds the wait for the grant of a chunk.
	grantTimeout = 5 * time.Second
	// uploadBytes bounds the chunks that clients may send to a worker before it has received
	// them, in bytes. A server closes the connection of a worker that has more than max_pending
	// (64 MiB by default) still to read, and all uploads to that worker fail.
	uploadBytes = 16 << 20
)

// upload is the body of a stream's request, received whole or in chunks. The client sends a chunk
// when the worker has granted it from a budget of its tenant: the reply to a chunk grants the
// next one, and the reply to an empty message the first one. Memory grows
// with the bytes received, not with the announced size: the full size is allocated
// only after a quarter of it has arrived.
type upload struct {
	budget  *admission.Pool // of the worker
	tenant  string
	mu      sync.Mutex    // held while a chunk is handled
	granted int64         // bytes
	body    []byte        // complete when whole is closed
	size    int           // of a body in chunks; 0 when it came with the request
	got     int           // bytes received
	timeout *time.Timer   // of the wait for the next chunk or grant; nil: the body came with the request
	whole   chan struct{} // closed when the body is complete
}

// receive adds a chunk and waits until the budget permits the next one. The client sends further
// chunks when it returns; one that does not wait fills the buffer of the subscription.
func (u *upload) receive(ctx context.Context, chunk []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.add(chunk); err != nil {
		return err
	}
	u.revoke()
	if u.got == u.size || ctx.Err() != nil {
		return nil
	}
	n := int64(min(u.size-u.got, chunkSize))
	ctx, cancel := context.WithTimeout(ctx, grantTimeout)
	defer cancel()
	if u.budget.Wait(ctx, u.tenant, n) != nil {
		return schemas.ErrUnavailable.Because("the worker receives too many uploads")
	}
	u.granted = n
	u.timeout.Reset(grantTimeout + chunkTimeout)
	return nil
}

// close returns the granted bytes to the budget when the last chunk has been handled. The context
// of receive has ended.
func (u *upload) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.revoke()
	if u.timeout != nil {
		u.timeout.Stop()
	}
}

// revoke returns the granted bytes to the budget. The caller holds u.mu.
func (u *upload) revoke() {
	u.budget.Release(u.tenant, u.granted)
	u.granted = 0
}

// announced prepares for a body of size bytes that follows in chunks; without a size
// the body is complete.
func (u *upload) announced(size string, most int) error {
	if size == "" {
		if len(u.body) > most {
			return tooLarge(len(u.body), most)
		}
		close(u.whole)
		return nil
	}
	n, err := strconv.Atoi(size)
	switch {
	case err != nil || n < 1:
		return schemas.ErrMalformed.With(schemas.FieldError{Field: HeaderBodySize, Message: "expected a number of bytes"})
	case n > most:
		return tooLarge(n, most)
	}
	u.size = n
	return nil
}

// add adds the next chunk. Empty ones, and those after the last, are ignored.
func (u *upload) add(data []byte) error {
	switch {
	case len(data) == 0 || u.got == u.size:
		return nil
	case u.got+len(data) > u.size:
		return schemas.ErrMalformed.Because("the chunks exceed " + HeaderBodySize)
	}
	if u.got += len(data); u.got >= u.size/4 { // memory grows with the bytes received until then
		u.body = slices.Grow(u.body, u.size-len(u.body))
	}
	if u.body = append(u.body, data...); u.got == u.size {
		u.timeout.Stop()
		close(u.whole)
		return nil
	}
	u.timeout.Reset(grantTimeout + chunkTimeout)
	return nil
}

// arrived waits for the whole body.
func (u *upload) arrived(ctx context.Context) error {
	select {
	case <-u.whole:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take returns the body and drops the reference, so that it can be freed while the
// answer is streamed.
func (u *upload) take() []byte {
	body := u.body
	u.body = nil
	return body
}
