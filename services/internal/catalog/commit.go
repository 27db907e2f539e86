package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/bucket"
)

const (
	// maxIndividual is the number of concurrent individual publishes. A batch costs the
	// server about 15 syncs regardless of its size, so batches must be larger.
	maxIndividual = 32
	minGroup      = 32
	// The server limits batches to 1,000 messages.
	maxGroup      = 128
	maxGroupBytes = 8 << 20
	// groupTimeout bounds a commit, before its messages are published individually. It is
	// independent of the callers' contexts because all of them share the result.
	groupTimeout = 2 * time.Second
)

// errNotBatched reports that a message must be published individually.
var errNotBatched = errors.New("message not batched")

// commits publishes a few concurrent writes individually and groups the writes that
// queue up behind them into atomic batches (ADR-50), which avoid one sync for each
// message on a server that always syncs. It needs no goroutine: the callers publish,
// and a caller that releases its slot dispatches the next writes.
type commits struct {
	js      jetstream.JetStream
	batches bool // the stream accepts atomic batches

	mu         sync.Mutex
	queue      []*write
	individual int  // callers that publish individually
	committing bool // a caller is committing a group
}

// write is a queued message.
type write struct {
	msg      *nats.Msg
	slot     chan []*write // receives the group to commit, or nil to publish individually
	done     chan struct{} // closed after the committing caller has set revision and err
	revision uint64
	err      error
}

// put stores one message, individually by calling publish or in a group, and returns
// its sequence.
func (c *commits) put(ctx context.Context, msg *nats.Msg, publish func() (uint64, error)) (uint64, error) {
	// An oversized message would fail its whole batch. Published individually, it
	// affects no other message.
	if !c.batches || int64(len(msg.Data)) > c.js.Conn().MaxPayload()-bucket.HeaderRoom {
		return publish()
	}
	w := &write{msg: msg, slot: make(chan []*write, 1), done: make(chan struct{})}
	c.enqueue(w)
	if err := c.wait(ctx, w); !errors.Is(err, errNotBatched) {
		return w.revision, err
	}
	defer c.release(func() { c.individual-- })
	return publish()
}

// wait returns when w is stored or has failed. It returns errNotBatched when the
// caller must publish w and holds one of the maxIndividual slots.
func (c *commits) wait(ctx context.Context, w *write) error {
	canceled := ctx.Done()
	for {
		select {
		case <-canceled:
			if c.withdraw(w) {
				return ctx.Err()
			}
			canceled = nil // already dispatched; wait for the result
		case group := <-w.slot:
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

// withdraw removes w from the queue and reports whether it was still queued.
func (c *commits) withdraw(w *write) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, w)
	if i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	}
	return i >= 0
}

// release calls finish, which ends a publish or commit, and dispatches the next writes.
func (c *commits) release(finish func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	finish()
	c.dispatch()
}

// dispatch grants the free slots. During a commit the other writes wait for the
// next group, because individual publishes would delay it. The caller holds mu.
func (c *commits) dispatch() {
	if c.committing {
		return
	}
	if len(c.queue) >= minGroup {
		c.committing = true
		group := c.dequeue()
		group[0].slot <- group
		return
	}
	for c.individual < maxIndividual && len(c.queue) > 0 {
		c.individual++
		c.queue[0].slot <- nil
		c.queue = c.queue[1:]
	}
}

// dequeue removes the group at the head of the queue.
func (c *commits) dequeue() []*write {
	n, size := 0, 0
	for n < min(len(c.queue), maxGroup) && (n == 0 || size+len(c.queue[n].msg.Data) <= maxGroupBytes) {
		size += len(c.queue[n].msg.Data)
		n++
	}
	group := c.queue[:n:n]
	c.queue = c.queue[n:]
	return group
}

// commit stores the group and reports the result to its callers. If the batch is
// rejected, each of them gets a slot to publish individually.
func (c *commits) commit(group []*write) {
	last, err := c.publish(group)
	defer c.release(func() { c.committing = false })
	if errors.Is(err, errNotBatched) {
		c.mu.Lock()
		c.individual += len(group)
		c.mu.Unlock()
	}
	for i, w := range group {
		if w.err = err; err == nil { // the messages of an atomic batch have consecutive sequences
			w.revision = last - uint64(len(group)-1-i)
		}
		close(w.done)
	}
}

// publish sends the group as one atomic batch and returns the sequence of its last
// message. A rejected batch stores nothing, so each message can be published individually.
func (c *commits) publish(group []*write) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	batch, err := jetstreamext.NewBatchPublisher(c.js, jetstreamext.BatchFlowControl{}) // only the commit is acknowledged
	if err != nil {
		return 0, err
	}
	last := len(group) - 1
	for _, w := range group[:last] {
		if err := batch.AddMsg(w.copy()); err != nil {
			return 0, errNotBatched // an incomplete batch is not stored
		}
	}
	ack, err := batch.CommitMsg(ctx, group[last].copy())
	switch {
	case errors.Is(err, jetstreamext.ErrInvalidBatchAck), errors.Is(err, jetstream.ErrInvalidJSAck):
		return 0, fmt.Errorf("commit a batch of %d messages: %w", len(group), err)
	case err != nil:
		return 0, errNotBatched // if the batch was stored, the individual messages are duplicates
	}
	return ack.Sequence, nil
}

// copy returns the message with a copy of the headers, because a batch adds headers.
func (w *write) copy() *nats.Msg {
	return &nats.Msg{Subject: w.msg.Subject, Data: w.msg.Data, Header: maps.Clone(w.msg.Header)}
}
