package bus

import (
	"context"
	"strconv"
	"time"

	"cairn/schemas"
)

// chunkTimeout is how long a caller may take for the next chunk of a body.
const chunkTimeout = 5 * time.Second

// upload is the body of a stream's request, whole or on its way. What is kept
// of one on its way is what has come, not what was announced; a quarter must
// have come before there is room for all.
type upload struct {
	body  []byte        // complete when whole is closed
	size  int           // of a body in chunks; 0 when it came with the request
	parts [][]byte      // that are not in body yet
	got   int           // of it, so far
	came  chan struct{} // has room for the sign that a chunk came
	whole chan struct{} // closed when the body is complete
}

func newUpload(body []byte) upload {
	return upload{body: body, came: make(chan struct{}, 1), whole: make(chan struct{})}
}

// announced prepares for a body of size that follows in chunks; without a size
// the body is there.
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
		return schemas.ErrMalformed.With(schemas.FieldError{Field: HeaderBodySize, Message: "want a number of bytes"})
	case n > most:
		return tooLarge(n, most)
	}
	u.size = n
	return nil
}

// chunk takes the next piece. What comes when the body is complete, and what
// is empty, is none.
func (u *upload) chunk(data []byte) error {
	switch {
	case len(data) == 0 || u.got == u.size:
		return nil
	case u.got+len(data) > u.size:
		return schemas.ErrMalformed.Because("the chunks have more bytes than " + HeaderBodySize + " announced")
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
	default: // a sign is there already
	}
	return nil
}

// gather puts the parts into the body. Once a quarter of it has come there is
// room for all: pieces copied as they come do not wait for the last one.
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
	patience := time.NewTimer(chunkTimeout)
	defer patience.Stop()
	for {
		select {
		case <-u.whole:
			return nil
		case <-u.came:
			patience.Reset(chunkTimeout)
		case <-patience.C:
			return schemas.ErrTimeout.Because("the body did not follow the request")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take is the body, which is not kept: a long answer does not hold on to it.
func (u *upload) take() []byte {
	body := u.body
	u.body = nil
	return body
}
