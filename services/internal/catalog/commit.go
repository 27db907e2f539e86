package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

const (
	// maxIndividual writes are published each by itself, as they come. A batch costs
	// the server some 15 syncs whatever its size, so it has to be of more.
	maxIndividual = 32
	minGroup      = 32
	// A server takes batches of up to 1,000 messages.
	maxGroup      = 128
	maxGroupBytes = 8 << 20
	// groupTimeout bounds a commit, which its callers share and none of them
	// may cut short.
	groupTimeout = 5 * time.Second
)

// errNotBatched asks the caller to publish the message by itself: it is not stored.
var errNotBatched = errors.New("message not batched")

// commits lets writes through as they come while they are few, and commits
// those that pile up behind them as atomic batches (ADR-50), for which a
// server that always syncs does not sync once a message. There is no goroutine
// behind it: the callers do the work, and each turn given back starts the next.
type commits struct {
	conn    *nats.Conn
	batches bool // the stream takes atomic batches

	mu         sync.Mutex
	queue      []*write
	individual int  // callers that publish by themselves
	committing bool // a caller commits a group
}

// write is a message that waits for its turn.
type write struct {
	subject  string
	data     []byte
	turn     chan []*write // the group to commit, or nil to publish alone
	done     chan struct{} // closed when a group's leader has set what follows
	revision uint64
	err      error
}

// put stores one message, by itself with alone or in a group, and answers with
// its sequence.
func (c *commits) put(ctx context.Context, subject string, data []byte, publish func() (uint64, error)) (uint64, error) {
	// Too large a message would take its whole batch down; alone it gets the
	// error it deserves.
	if !c.batches || int64(len(data)) > c.conn.MaxPayload()-1024 {
		return publish()
	}
	w := &write{subject: subject, data: data, turn: make(chan []*write, 1), done: make(chan struct{})}
	c.enqueue(w)
	if err := c.await(ctx, w); !errors.Is(err, errNotBatched) {
		return w.revision, err
	}
	defer c.release(func() { c.individual-- })
	return publish()
}

// await returns when w is stored, or has failed, or is to be published by its
// caller, who then has one of the turns for that.
func (c *commits) await(ctx context.Context, w *write) error {
	cancelled := ctx.Done()
	for {
		select {
		case <-cancelled:
			if c.withdraw(w) {
				return ctx.Err()
			}
			cancelled = nil // it is under way, and has to be seen through
		case group := <-w.turn:
			if group == nil {
				return errNotBatched
			}
			c.commit(group)
		case <-w.done:
			return w.err
		}
	}
}

func (c *commits) enqueue(w *write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, w)
	c.dispatch()
}

// withdraw takes w off the queue, if it is still there.
func (c *commits) withdraw(w *write) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, w)
	if i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	}
	return i >= 0
}

// release ends a turn.
func (c *commits) release(turn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	turn()
	c.dispatch()
}

// dispatch gives out the turns that are free. While a group is committed all
// others wait for the next: published alone they would only hold it up. The
// lock is held.
func (c *commits) dispatch() {
	if c.committing {
		return
	}
	if len(c.queue) >= minGroup {
		c.committing = true
		group := c.take()
		group[0].turn <- group
		return
	}
	for c.individual < maxIndividual && len(c.queue) > 0 {
		c.individual++
		c.queue[0].turn <- nil
		c.queue = c.queue[1:]
	}
}

// take is the group at the head of the queue.
func (c *commits) take() []*write {
	n, size := 0, 0
	for n < min(len(c.queue), maxGroup) && (n == 0 || size+len(c.queue[n].data) <= maxGroupBytes) {
		size += len(c.queue[n].data)
		n++
	}
	group := c.queue[:n:n]
	c.queue = c.queue[n:]
	return group
}

// commit stores the group and tells each of its callers. If it is refused all
// of them have turns to publish alone.
func (c *commits) commit(group []*write) {
	last, err := c.publish(group)
	defer c.release(func() { c.committing = false })
	if errors.Is(err, errNotBatched) {
		c.mu.Lock()
		c.individual += len(group)
		c.mu.Unlock()
	}
	for i, w := range group {
		// The messages of an atomic batch follow each other without a gap.
		w.revision, w.err = last-uint64(len(group)-1-i), err
		close(w.done)
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
			return 0, fmt.Errorf("publish a message of a batch: %w", err)
		}
	}
	msg := batchMsg(group[n-1], id, n)
	msg.Header.Set("Nats-Batch-Commit", "1")
	reply, err := c.conn.RequestMsgWithContext(ctx, msg)
	if errors.Is(err, nats.ErrNoResponders) {
		return 0, errNotBatched // the stream has no leader; alone it is tried again
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
		return 0, fmt.Errorf("decode the batch acknowledgement: %w", err)
	}
	if ack.Error != nil {
		return 0, errNotBatched
	}
	if ack.Batch != id || ack.Count != n || ack.Sequence < uint64(n) {
		return 0, fmt.Errorf("commit a batch of %d: unexpected acknowledgement %s", n, data)
	}
	return ack.Sequence, nil
}
