package bus

import (
	"context"
	"strconv"
	"time"

	"cairn/schemas"
)

// chunkTimeout bounds the wait for the next chunk of a body.
const chunkTimeout = 5 * time.Second

// upload is the body of a stream's request, received whole or in chunks. Memory grows
// with the bytes received, not with the announced size: the full size is allocated
// only after a quarter of it has arrived.
type upload struct {
	body  []byte        // complete when whole is closed
	size  int           // of a body in chunks; 0 when it came with the request
	parts [][]byte      // received, not in body yet
	got   int           // bytes received
	came  chan struct{} // signalled on each chunk
	whole chan struct{} // closed when the body is complete
}

func newUpload(body []byte) upload {
	return upload{body: body, came: make(chan struct{}, 1), whole: make(chan struct{})}
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
	select {
	case u.came <- struct{}{}:
	default: // already signalled
	}
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
	timer := time.NewTimer(chunkTimeout)
	defer timer.Stop()
	for {
		select {
		case <-u.whole:
			return nil
		case <-u.came:
			timer.Reset(chunkTimeout)
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
