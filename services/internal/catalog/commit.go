package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

const (
	// maxGroup and maxGroupBytes bound what is committed together. A server
	// takes up to 1,000 messages; beyond some dozens the disk is no longer
	// what limits.
	maxGroup      = 128
	maxGroupBytes = 8 << 20
	// groupTimeout bounds a commit, which its callers share and none of them
	// may cut short.
	groupTimeout = 5 * time.Second
)

// errAlone asks the caller to write the message by itself: it was not stored.
var errAlone = errors.New("write alone")

// commits writes messages that arrive together as one atomic batch (ADR-50),
// for which a server that syncs always syncs once instead of once a message.
// There is no goroutine behind it: the first caller commits, those who come
// meanwhile queue, and when it is done one of them commits them all.
type commits struct {
	conn    *nats.Conn
	grouped bool // the stream takes atomic batches

	mu      sync.Mutex
	queue   []*write
	leading bool // a caller is committing, or has been asked to
}

type write struct {
	subject  string
	data     []byte
	revision uint64
	err      error
	done     chan struct{} // closed when revision and err are set
	lead     chan struct{} // closed when the waiting caller is to commit
}

// put stores one message and answers with its sequence, or with errAlone.
func (c *commits) put(ctx context.Context, subject string, data []byte) (uint64, error) {
	// Too large a message would take its whole batch down; alone it gets the
	// error it deserves.
	if !c.grouped || int64(len(data)) > c.conn.MaxPayload()-1024 {
		return 0, errAlone
	}
	w := &write{subject: subject, data: data, done: make(chan struct{}), lead: make(chan struct{})}
	c.enqueue(w)
	select {
	case <-w.lead:
		c.commit()
	case <-w.done:
	case <-ctx.Done():
		if c.withdraw(w) {
			return 0, ctx.Err()
		}
		// Its group is on the way, or waits for this caller to commit it.
		select {
		case <-w.lead:
			c.commit()
		case <-w.done:
		}
	}
	<-w.done
	return w.revision, w.err
}

func (c *commits) enqueue(w *write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, w)
	if !c.leading {
		c.leading = true
		close(w.lead)
	}
}

// withdraw takes w off the queue, unless it is under way or leads.
func (c *commits) withdraw(w *write) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, queued := range c.queue {
		if queued != w {
			continue
		}
		if i == 0 && c.leads(w) {
			return false
		}
		c.queue = append(c.queue[:i], c.queue[i+1:]...)
		return true
	}
	return false
}

func (*commits) leads(w *write) bool {
	select {
	case <-w.lead:
		return true
	default:
		return false
	}
}

// commit stores the group at the head of the queue, the caller's own message
// among it, and asks the next in the queue to go on.
func (c *commits) commit() {
	group := c.take()
	c.store(group)
	for _, w := range group {
		close(w.done)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leading = len(c.queue) > 0
	if c.leading {
		close(c.queue[0].lead)
	}
}

func (c *commits) take() []*write {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, size := 0, 0
	for n < len(c.queue) && n < maxGroup && (n == 0 || size+len(c.queue[n].data) <= maxGroupBytes) {
		size += len(c.queue[n].data)
		n++
	}
	group := c.queue[:n:n]
	c.queue = c.queue[n:]
	return group
}

// store publishes the group and sets each write's outcome.
func (c *commits) store(group []*write) {
	if len(group) == 1 {
		group[0].err = errAlone
		return
	}
	last, err := c.publish(group)
	for i, w := range group {
		// The messages of an atomic batch follow each other without a gap.
		w.revision, w.err = last-uint64(len(group)-1-i), err
	}
}

// publish sends the group as one atomic batch and answers with the sequence of
// its last message.
func (c *commits) publish(group []*write) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	id, n := nuid.Next(), len(group)
	for i, w := range group[:n-1] {
		if err := c.conn.PublishMsg(batchMsg(w, id, i+1)); err != nil {
			return 0, fmt.Errorf("publish in a batch: %w", err)
		}
	}
	msg := batchMsg(group[n-1], id, n)
	msg.Header.Set("Nats-Batch-Commit", "1")
	reply, err := c.conn.RequestMsgWithContext(ctx, msg)
	if errors.Is(err, nats.ErrNoResponders) {
		return 0, errAlone // the stream has no leader; alone it is tried again
	}
	if err != nil {
		return 0, fmt.Errorf("commit a batch: %w", err)
	}
	return batchAck(reply.Data, id, n)
}

func batchMsg(w *write, id string, seq int) *nats.Msg {
	msg := nats.NewMsg(w.subject)
	msg.Data = w.data
	msg.Header.Set("Nats-Batch-Id", id)
	msg.Header.Set("Nats-Batch-Sequence", strconv.Itoa(seq))
	return msg
}

// batchAck reads the server's answer to a commit. A batch that was refused
// left nothing behind, so each message may be tried alone.
func batchAck(data []byte, id string, n int) (uint64, error) {
	var ack struct {
		Sequence uint64          `json:"seq"`
		Batch    string          `json:"batch"`
		Count    int             `json:"count"`
		Error    json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &ack); err != nil {
		return 0, fmt.Errorf("read the answer to a batch: %w", err)
	}
	if ack.Error != nil {
		return 0, errAlone
	}
	if ack.Batch != id || ack.Count != n || ack.Sequence < uint64(n) {
		return 0, fmt.Errorf("commit a batch of %d: unexpected answer %s", n, data)
	}
	return ack.Sequence, nil
}
