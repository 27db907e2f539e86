package edge

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"cairn/bus/admission"
	"cairn/schemas"
)

const (
	// bodyTimeout is the read timeout of a whole request body.
	bodyTimeout = time.Minute
	// bodyGrace and bodyRate bound it part by part: n bytes may take bodyGrace
	// plus n/bodyRate. A slower request fails.
	bodyGrace = 10 * time.Second
	bodyRate  = 16 << 10 // bytes per second
	// firstBuffer is the size of the buffer, in bytes, before the first byte has
	// arrived. A full buffer grows by growthFactor, so memory follows the bytes
	// received and not the Content-Length.
	firstBuffer  = 64 << 10
	growthFactor = 4

	// maxDiscarded is the number of bytes of an unused body that are read to reuse the
	// connection, and discardTimeout the timeout of that read. With more unread bytes the
	// connection is closed after the response.
	maxDiscarded   = 64 << 10
	discardTimeout = time.Second
	// defaultBodyMemory is Config.BodyMemory when it is 0.
	defaultBodyMemory = 512 << 20
)

var closing = []string{"close"}

var errBodyMemory = schemas.ErrUnavailable.Because(
	"the memory budget for request and response bodies is exhausted (--body-memory)")

// requestBody is the body of one request, and the share of the memory for bodies that it
// and the response hold.
type requestBody struct {
	w        http.ResponseWriter
	r        *http.Request
	memory   *admission.Pool
	tenant   string // whose share the acquired bytes are
	acquired int64
	data     []byte // of a stream, until its first event
	consumed bool   // the body was received or discarded
}

// read receives the whole body, at most limit bytes. The bytes count against the tenant of
// the caller until release: with a Content-Length before the first byte is read, otherwise as
// the buffer grows.
func (b *requestBody) read(limit int) ([]byte, error) {
	size := b.r.ContentLength
	if size == 0 {
		return nil, nil
	}
	if size > int64(limit) {
		return nil, tooLarge(limit)
	}
	if size > 0 && !b.acquire(size) {
		return nil, errBodyMemory
	}
	body, err := b.receive(int(size), limit)
	b.consumed = err == nil
	return body, err
}

// receive reads size bytes, or to the end of the body when size is negative.
func (b *requestBody) receive(size, limit int) ([]byte, error) {
	control := http.NewResponseController(b.w)
	defer func() { _ = control.SetReadDeadline(time.Time{}) }() // fails where deadlines are not supported
	declared := size >= 0
	if !declared {
		size = limit + 1 // one more byte shows that the body is too large
	}
	deadline := time.Now().Add(bodyTimeout)
	var body []byte
	for part := min(size, firstBuffer); ; part = min(size, growthFactor*part) {
		if !declared && !b.acquire(int64(part-len(body))) {
			return nil, errBodyMemory
		}
		body = append(make([]byte, 0, part), body...)
		_ = control.SetReadDeadline(earlier(deadline,
			time.Now().Add(bodyGrace+time.Duration(part-len(body))*time.Second/bodyRate)))
		var err error
		switch body, err = readFull(b.r.Body, body); {
		case errors.Is(err, io.EOF) && !declared:
			return body, nil
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case len(body) > limit:
			return nil, tooLarge(limit)
		case len(body) == size:
			return body, nil
		}
	}
}

// readFull reads until buffer is full. Unlike io.ReadFull, it returns io.EOF for a body that
// ends earlier, since net/http returns io.ErrUnexpectedEOF for a truncated one.
func readFull(r io.Reader, buffer []byte) ([]byte, error) {
	for len(buffer) < cap(buffer) {
		n, err := r.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if err != nil && len(buffer) < cap(buffer) {
			return buffer, err
		}
	}
	return buffer, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func tooLarge(limit int) error {
	return schemas.ErrTooLarge.Because(fmt.Sprintf("expected at most %d bytes", limit))
}

// acquire reserves n bytes of the memory for bodies, and reports whether they were available.
func (b *requestBody) acquire(n int64) bool {
	if !b.memory.Acquire(b.tenant, n) {
		return false
	}
	b.acquired += n
	return true
}

// release returns the memory of the bodies, which must not be used afterwards.
func (b *requestBody) release() {
	if b.acquired > 0 {
		b.memory.Release(b.tenant, b.acquired)
		b.acquired, b.data = 0, nil
	}
}

// discard handles a body that was not received, before the response. A short
// one is read so that the connection can serve another request. Otherwise the
// response closes the connection.
func (b *requestBody) discard() {
	if b.consumed || b.r.ContentLength == 0 {
		return
	}
	b.consumed = true
	control := http.NewResponseController(b.w)
	_ = control.SetReadDeadline(time.Now().Add(discardTimeout)) // for net/http too, when it closes the body
	if b.r.Header["Expect"] != nil {
		return
	}
	if b.r.ContentLength <= maxDiscarded {
		if _, err := io.CopyN(io.Discard, b.r.Body, maxDiscarded+1); errors.Is(err, io.EOF) {
			_ = control.SetReadDeadline(time.Time{})
			return
		}
	}
	if b.r.ProtoMajor == 1 { // the server resets the stream of an HTTP/2 request
		b.w.Header()["Connection"] = closing
	}
}
