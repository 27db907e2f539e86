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
	chunkSize    = 512 << 10       // of an upload's messages, in bytes
	chunkTimeout = 5 * time.Second // for the next chunk of a body
	grantTimeout = 5 * time.Second // for the grant of a chunk
	// uploadBytes bounds the chunks that clients may send to a worker before it has received
	// them, in bytes. A server closes the connection of a worker that has more than max_pending
	// (64 MiB by default) still to read, and all uploads to that worker fail.
	uploadBytes = 16 << 20
)

// upload is the body of a stream's request, received whole or in chunks. The client sends a chunk
// when the worker has granted it from a budget of its tenant: the reply to a chunk grants the next
// one, and the reply to an empty message the first one. Memory grows with the bytes received, not
// with the announced size: the full size is allocated only after a quarter of it has arrived.
type upload struct {
	budget  *admission.Pool // of the worker
	tenant  string
	mu      sync.Mutex    // held while a chunk is handled
	granted int64         // bytes granted and not received
	body    []byte        // complete when whole is closed
	size    int           // size of a body in chunks; 0: the request contained the body
	got     int           // bytes received
	timeout *time.Timer   // bounds the wait for the next chunk or grant; nil: the request contained the body
	whole   chan struct{} // closed when the body is complete
}

// receive adds a chunk and blocks until the budget grants the next one. A client that ignores
// grants fills the buffer of the subscription.
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

// close returns the granted bytes to the budget. The caller has canceled the context of receive, so
// that a pending call returns first.
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

// setSize sets the size of a body that follows in chunks, as text. If it is empty, the request
// contained the whole body. It returns an error for a size above the limit.
func (u *upload) setSize(size string, limit int) error {
	if size == "" {
		if len(u.body) > limit {
			return tooLarge(len(u.body), limit)
		}
		close(u.whole)
		return nil
	}
	n, err := strconv.Atoi(size)
	switch {
	case err != nil || n < 1:
		return schemas.ErrMalformed.With(schemas.FieldError{Field: HeaderBodySize, Message: "expected a number of bytes"})
	case n > limit:
		return tooLarge(n, limit)
	}
	u.size = n
	return nil
}

// add adds the next chunk. It ignores empty chunks and those after the end of the body.
func (u *upload) add(data []byte) error {
	switch {
	case len(data) == 0 || u.got == u.size:
		return nil
	case u.got+len(data) > u.size:
		return schemas.ErrMalformed.Because("the chunks exceed " + HeaderBodySize)
	}
	if u.got += len(data); u.got >= u.size/4 { // see upload
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

func (u *upload) wait(ctx context.Context) error {
	select {
	case <-u.whole:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
