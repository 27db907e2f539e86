package edge

import (
	"sync"

	"cairn/schemas"
)

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
