package bus

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
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
	budget   *admission.Pool // of the worker
	tenant   string
	granting sync.WaitGroup
	waits    atomic.Bool   // for a grant
	granted  atomic.Int64  // bytes
	body     []byte        // complete when whole is closed
	size     int           // of a body in chunks; 0 when it came with the request
	parts    [][]byte      // received, not in body yet
	got      int           // bytes received
	came     chan struct{} // signalled on each chunk and grant
	whole    chan struct{} // closed when the body is complete
}

// grant calls granted when the budget permits another chunk, or with an error. The previous
// chunk has arrived.
func (u *upload) grant(ctx context.Context, granted func(error)) {
	u.revoke()
	if u.got == u.size {
		granted(nil)
		return
	}
	if !u.waits.CompareAndSwap(false, true) { // a client that does not wait for its grant
		return
	}
	n := int64(min(u.size-u.got, chunkSize))
	u.granting.Go(func() {
		defer u.waits.Store(false)
		limited, cancel := context.WithTimeout(ctx, grantTimeout)
		defer cancel()
		if u.budget.Wait(limited, u.tenant, n) != nil {
			granted(schemas.ErrUnavailable.Because("the worker receives too many uploads"))
			return
		}
		u.granted.Add(n)
		signal(u.came)
		granted(nil)
	})
}

// revoke returns the granted bytes to the budget.
func (u *upload) revoke() { u.budget.Release(u.tenant, u.granted.Swap(0)) }

// signal signals a channel unless it is signalled already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
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

// chunk adds the next chunk. Empty ones, and those after the last, are ignored.
func (u *upload) chunk(data []byte) error {
	switch {
	case len(data) == 0 || u.got == u.size:
		return nil
	case u.got+len(data) > u.size:
		return schemas.ErrMalformed.Because("the chunks exceed " + HeaderBodySize)
	}
	u.parts = append(u.parts, data)
	if u.got += len(data); u.got >= u.size/4 {
		u.gather()
	}
	if u.got == u.size {
		close(u.whole)
		return nil
	}
	signal(u.came)
	return nil
}

// gather moves the parts into the body. It runs for every chunk after the first
// quarter, so that the copying does not delay the end of the upload.
func (u *upload) gather() {
	if cap(u.body) < u.size {
		u.body = make([]byte, 0, u.size)
	}
	for _, part := range u.parts {
		u.body = append(u.body, part...)
	}
	u.parts = nil
}

// arrived waits for the whole body.
func (u *upload) arrived(ctx context.Context) error {
	timer := time.NewTimer(grantTimeout + chunkTimeout)
	defer timer.Stop()
	for {
		select {
		case <-u.whole:
			return nil
		case <-u.came:
			timer.Reset(grantTimeout + chunkTimeout)
		case <-timer.C:
			return schemas.ErrTimeout.Because("no chunk of the body arrived in time")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take returns the body and drops the reference, so that it can be freed while the
// answer is streamed.
func (u *upload) take() []byte {
	body := u.body
	u.body = nil
	return body
}
