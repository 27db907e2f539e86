package edge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/retry"
	"cairn/bus/telemetry"
	"cairn/edge/describe"
	"cairn/schemas"
)

const (
	// maxBlank is the largest number of consecutive bytes of blank lines in a bulk request. Nothing is written
	// for a blank line, so without the limit an abandoned body of blank lines is read to its end.
	maxBlank = 64 << 10
	// maxLongLine is the number of bytes of a line that is too long after which the request ends. The result of
	// a shorter one is an error, and the next lines are read.
	maxLongLine = 8 * maxLine
	// bulkMemory bounds the memory of a bulk request in bytes: the lines that were read ahead, the line
	// that is being read, the request to a worker and its reply.
	bulkMemory = 4 * maxBody
	// busyTimeout bounds the retries of a request that every worker refuses as busy.
	busyTimeout = time.Minute
	// Interval of these retries, which doubles.
	firstBusyRetry = 20 * time.Millisecond
	lastBusyRetry  = time.Second
)

// bulk returns an action that reads one record per line of the body, sends them to e in sequential
// batches, and responds with one result per line, in the order of the records. It reads the next
// batch while one is stored.
func bulk(e bus.Endpoint[schemas.PutRecords, schemas.RecordResults]) action {
	spec := endpointAction(e).Spec
	spec.Media, spec.BodyMember = describe.MediaLines, "records"
	return inURL(spec, func(x *exchange, head []byte) error {
		if _, err := schemas.Decode[schemas.PutRecords](head, e.Invalid); err != nil { // without lines, no worker does
			return err
		}
		for _, name := range []string{bus.HeaderIfMatch, bus.HeaderIfNoneMatch} {
			if x.r.Header.Get(name) != "" {
				return e.Invalid.With(schemas.FieldError{Field: name,
					Message: "not supported for several records; use PUT /records/{kind}/{id}"})
			}
		}
		release, err := enterStream(x)
		if err != nil {
			return err
		}
		defer release()
		if !x.body.acquire(bulkMemory) {
			return errBodyMemory
		}
		defer telemetry.StreamOpened()()
		b := &bulkRequest{x: x, endpoint: e, head: head[:len(head)-1], control: http.NewResponseController(x.w)}
		return b.run()
	})
}

// bulkRequest is a bulk request in progress.
type bulkRequest struct {
	x        *exchange
	endpoint bus.Endpoint[schemas.PutRecords, schemas.RecordResults]
	head     []byte // of each request to a worker: all members except records
	control  *http.ResponseController
}

// run responds until the end of the body. After an error of the whole request, the last line
// contains only the error; records without a result were not registered.
func (b *bulkRequest) run() error {
	b.x.body.consumed = true
	_ = b.control.EnableFullDuplex() // fails for HTTP/2, which is full-duplex
	stream, end := streamContext(b.x)
	defer end()
	ctx, cancel := context.WithCancelCause(stream)
	defer cancel(nil)
	defer context.AfterFunc(b.x.edge.acceptCtx, func() {
		cancel(schemas.ErrUnavailable.Because("the edge is shutting down"))
	})()
	lines := newLineQueue()
	reading := make(chan struct{})
	go func() {
		err := b.read(lines)
		close(reading) // before the lines end: stopReading would fail the next request of the connection
		lines.finish(err)
	}()
	defer func() {
		lines.close(context.Canceled)
		b.stopReading(reading)
	}()
	defer context.AfterFunc(ctx, func() { lines.close(context.Cause(ctx)) })()
	for {
		batch, err := lines.next()
		if errors.Is(err, io.EOF) {
			return b.write(nil)
		}
		if err != nil {
			return b.end(err)
		}
		if results := b.results(ctx, batch); len(results) > 0 {
			if err := b.write(results); err != nil {
				return err
			}
		}
	}
}

// read adds the lines of the body to the queue until it is closed. It truncates lines that are too
// long, and adds blank ones too, which would have no backpressure otherwise. It returns io.EOF at the end of
// the body.
func (b *bulkRequest) read(lines *lineQueue) error {
	body := bufio.NewReaderSize(b.x.r.Body, firstBuffer)
	blank := 0 // consecutive bytes
	for {
		if arrived, _ := body.Peek(body.Buffered()); bytes.IndexByte(arrived, '\n') < 0 {
			_ = b.control.SetReadDeadline(time.Now().Add(bodyTimeout + bodyGrace)) // fails where deadlines are not supported
			if lines.closed() {                                                    // stopReading sets its deadline later
				return nil
			}
		}
		text, err := readLine(body)
		if errors.Is(err, bufio.ErrTooLong) {
			_ = b.control.SetReadDeadline(time.Now().Add(discardTimeout)) // for net/http, when it closes the body
			return errLongLine
		}
		if err != nil && !errors.Is(err, io.EOF) {
			lines.close(err) // the client has probably disconnected
			return err
		}
		if blank += len(text); !isBlank(text) {
			blank = 0
		}
		if blank > maxBlank {
			_ = b.control.SetReadDeadline(time.Now().Add(discardTimeout)) // for net/http, when it closes the body
			return schemas.ErrTooLarge.Because(fmt.Sprintf("expected at most %d consecutive bytes of blank lines", maxBlank))
		}
		if len(text) > 0 && !lines.add(text) {
			return nil
		}
		if err != nil { // io.EOF
			_ = b.control.SetReadDeadline(time.Time{})
			return err
		}
	}
}

// stopReading ends read.
func (b *bulkRequest) stopReading(reading <-chan struct{}) {
	select {
	case <-reading:
		return
	default:
	}
	_ = b.control.SetReadDeadline(time.Now())
	<-reading
}

func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

var errLongLine = schemas.ErrTooLarge.Because(fmt.Sprintf("expected lines of at most %d bytes", maxLine))

// readLine returns the next line, or the first maxLine+1 bytes of a line that is too long, or bufio.ErrTooLong once
// more than maxLongLine bytes of it have arrived.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for size := 0; size <= maxLongLine; {
		part, err := r.ReadSlice('\n')
		size += len(part)
		line = append(line, part[:min(len(part), maxLine+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, bufio.ErrTooLong
}

// results returns the results of the lines that are not blank, which it decodes and sends. The lines that a worker
// cannot decode have a result of this edge.
func (b *bulkRequest) results(ctx context.Context, batch [][]byte) []jsontext.Value {
	ctx, cancel := context.WithTimeoutCause(ctx, busyTimeout, errOverload)
	defer cancel()
	batch = slices.DeleteFunc(batch, isBlank)
	results := make([]jsontext.Value, len(batch))
	var sent []int
	body := append(slices.Clone(b.head), `,"records":[`...)
	if len(b.head) == 1 {
		body = append(slices.Clone(b.head), `"records":[`...)
	}
	for i, line := range batch {
		line = bytes.TrimSpace(line)
		if err := checkLine(line); err != nil {
			results[i] = b.rejected(err)
			continue
		}
		if len(sent) > 0 {
			body = append(body, ',')
		}
		body, sent = append(body, line...), append(sent, i)
	}
	if len(sent) == 0 {
		return results
	}
	replies, err := b.sendBatch(ctx, append(body, "]}"...))
	if err == nil && len(replies) != len(sent) {
		err = fmt.Errorf("a worker replied with %d results to %d records", len(replies), len(sent))
	}
	if err != nil {
		b.x.err = err
	}
	for n, i := range sent {
		if err != nil {
			results[i] = b.rejected(err)
		} else {
			results[i] = replies[n]
		}
	}
	return results
}

// sendBatch is send once a CPU is free: storing a batch takes milliseconds of CPU time.
func (b *bulkRequest) sendBatch(ctx context.Context, body []byte) ([]jsontext.Value, error) {
	waiting := admission.WithTenant(ctx, bus.AdmissionKey(b.x.caller, nil))
	release, err := admission.Acquire(waiting, b.x.edge.longWork, 1)
	defer release()
	if err != nil {
		return nil, context.Cause(ctx)
	}
	return b.send(ctx, body)
}

// send sends one request to a worker, and retries it while all workers are busy. A request that was sent is not
// canceled: its records may be stored.
func (b *bulkRequest) send(ctx context.Context, body []byte) ([]jsontext.Value, error) {
	for wait := firstBusyRetry; ; wait = min(2*wait, lastBusyRetry) {
		reply, err := b.endpoint.Forward(b.x.ctx, b.x.edge.conn, body)
		b.x.edge.watermark.advance(reply.Token)
		if !bus.Busy(err) {
			if err != nil {
				return nil, err
			}
			var answer struct {
				Results []jsontext.Value `json:"results"`
			}
			return answer.Results, json.Unmarshal(reply.Body, &answer)
		}
		if retry.Sleep(ctx, wait) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// checkLine returns an error for a line that cannot be part of a request.
func checkLine(line []byte) error {
	if len(line) > maxLine {
		return errLongLine
	}
	return schemas.CheckBulkRecord(line)
}

// rejected returns the result of a line that was not registered because of err.
func (b *bulkRequest) rejected(err error) jsontext.Value {
	e := *b.x.publicError(err)
	e.Instance = ""                                              // as in the results of a worker
	text, _ := json.Marshal(schemas.RecordResult{}.Rejected(&e)) // cannot fail: the error has valid UTF-8
	return text
}

// end writes the last line for an error of the whole request.
func (b *bulkRequest) end(err error) error {
	if b.x.r.Context().Err() != nil && !b.x.edge.stopped() {
		return context.Canceled
	}
	if _, ok := errors.AsType[*schemas.Error](err); !ok && !b.x.edge.stopped() { // of reading the body
		err = b.endpoint.Invalid.Because("reading the request body failed: " + err.Error())
	}
	if b.x.status == 0 {
		return err
	}
	b.x.err = err
	return b.write([]jsontext.Value{b.rejected(err)})
}

// write sends the results, after the response header if that is not sent yet.
func (b *bulkRequest) write(results []jsontext.Value) error {
	b.x.limitWrite()
	if b.x.status == 0 {
		b.x.w.Header().Set("Content-Type", describe.MediaLines)
		b.x.w.Header().Set("X-Accel-Buffering", "no")
		b.x.status = http.StatusOK
		b.x.w.WriteHeader(http.StatusOK)
	}
	var text []byte
	for _, r := range results {
		text = append(append(text, r...), '\n')
	}
	if _, err := b.x.w.Write(text); err != nil {
		return err
	}
	return b.control.Flush()
}

// maxLine is the largest line of a bulk request in bytes, and the largest total of the lines in
// one request to a worker.
const maxLine = maxBody - 4<<10

// lineQueue holds the lines of a bulk request between their arrival and the request to a worker: at
// most maxLine bytes and schemas.MaxBulk lines, or one longer line.
type lineQueue struct {
	mu      sync.Mutex
	changed sync.Cond
	lines   [][]byte
	size    int
	err     error // returned by next after the lines
	stopped bool  // the lines are discarded
}

func newLineQueue() *lineQueue {
	q := &lineQueue{}
	q.changed.L = &q.mu
	return q
}

// add appends a line. It waits while the queue is full, which is the backpressure on the client. It returns
// false if the queue is closed.
func (q *lineQueue) add(line []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.stopped && len(q.lines) > 0 && (len(q.lines) == schemas.MaxBulk || q.size+len(line) > maxLine) {
		q.changed.Wait()
	}
	q.lines, q.size = append(q.lines, line), q.size+len(line)
	q.changed.Broadcast()
	return !q.stopped
}

// finish makes next return err after the lines.
func (q *lineQueue) finish(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped {
		q.err = err
	}
	q.changed.Broadcast()
}

// close discards the lines, and makes next return err.
func (q *lineQueue) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped {
		q.stopped, q.err = true, err
	}
	q.changed.Broadcast()
}

func (q *lineQueue) closed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopped
}

// next takes all lines; it waits for one.
func (q *lineQueue) next() ([][]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.stopped && len(q.lines) == 0 && q.err == nil {
		q.changed.Wait()
	}
	if q.stopped || len(q.lines) == 0 {
		return nil, q.err
	}
	batch := q.lines
	q.lines, q.size = nil, 0
	q.changed.Broadcast()
	return batch, nil
}
