package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/overload"
)

const (
	// maxWatchBatch is the number of changes after which a watch that catches up yields to others.
	maxWatchBatch = 64
	// watchBytes is the number of bytes after which a batch ends, and that of a request for messages. A
	// message has at most maxRecord.
	watchBytes = 2 * maxRecord
	// catchUpTimeout bounds the wait for a message that the server has announced: it may have removed it.
	catchUpTimeout = 200 * time.Millisecond
	// changeTime is the time for which a change counts, which limits the changes per second that the watches
	// of a process receive. One takes about 50 µs of CPU time: in the NATS server, this process and an edge.
	changeTime = 50 * time.Microsecond
	// minPayment is the number of changes that count together, because timers are too slow for fewer.
	minPayment = int(time.Millisecond / changeTime)
)

// watch receives the changes of a call of Changes in batches.
type watch struct {
	catalog  *Catalog
	consumer jetstream.Consumer
	messages jetstream.MessagesContext
	pending  uint64 // messages that the server had after the last one
	unpaid   int    // changes that did not count yet
}

// openWatch creates the consumer of a watch. The caller closes the watch.
func openWatch(ctx context.Context, c *Catalog, filters []string, after uint64) (*watch, error) {
	w := &watch{catalog: c}
	end, err := startBatch(ctx, c.batches)
	defer func() { end(0) }()
	if err != nil {
		return nil, err
	}
	err = overload.Idle(ctx, func() error {
		return bucket.WaitReady(ctx, c.js, "create a consumer", func() (err error) {
			w.consumer, err = bucket.Ordered(ctx, c.stream, jetstream.OrderedConsumerConfig{
				FilterSubjects: filters,
				DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
			})
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	// Messages are requested when none is left, so that the server, which compares many subjects to select
	// each, does so during a batch.
	w.messages, err = w.consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(maxWatchBatch, watchBytes),
		jetstream.PullThresholdMessages(1), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		w.release(ctx)
		return nil, err
	}
	w.pending = w.consumer.CachedInfo().NumPending
	return w, nil
}

func (w *watch) close(ctx context.Context) {
	w.messages.Stop()
	w.release(ctx)
}

// release deletes the consumer: clients may start many watches in a minute.
func (w *watch) release(ctx context.Context) {
	_ = overload.Idle(ctx, func() error { bucket.Release(w.catalog.stream, w.consumer); return nil })
}

// next returns the next messages: those that the server has, at most maxWatchBatch. It waits for the first
// one.
func (w *watch) next(ctx context.Context) (batch []jetstream.Msg, err error) {
	if w.pending == 0 {
		err := overload.Idle(ctx, func() error { return w.receive(ctx, 0, &batch) })
		if w.unpaid++; err != nil || w.pending == 0 && w.unpaid < minPayment {
			return batch, err
		}
	}
	end, err := startBatch(ctx, w.catalog.batches)
	received := len(batch)
	defer func() { end(w.unpaid + len(batch) - received); w.unpaid = 0 }()
	if err != nil {
		return nil, err
	}
	size := 0
	err = overload.Idle(ctx, func() error {
		for w.pending > 0 && len(batch) < maxWatchBatch && size < watchBytes-maxRecord {
			if err := w.receive(ctx, catchUpTimeout, &batch); err != nil {
				return err
			}
			size += len(batch[len(batch)-1].Data())
		}
		return nil
	})
	if errors.Is(err, nats.ErrTimeout) {
		w.pending = 0
		err = nil
	}
	return batch, err
}

// receive appends the next message to the batch. It waits for the timeout, or for 0 until ctx ends.
func (w *watch) receive(ctx context.Context, timeout time.Duration, batch *[]jetstream.Msg) error {
	option := jetstream.NextContext(ctx)
	if timeout > 0 {
		option = jetstream.NextMaxWait(timeout)
	}
	msg, err := w.messages.Next(option)
	if err != nil {
		return err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	w.pending = meta.NumPending
	*batch = append(*batch, msg)
	return nil
}

// startBatch waits until a watch of the tenant of ctx may receive a batch. The caller calls end, also after an
// error, which is that of ctx, with the number of changes that count. The batch takes a unit until then, and at
// least for changeTime for each change.
func startBatch(ctx context.Context, batches *admission.Pool) (end func(changes int), err error) {
	release, err := overload.Acquire(ctx, batches, 1)
	began := time.Now()
	return func(changes int) {
		if rest := time.Duration(changes)*changeTime - time.Since(began); rest > 0 {
			time.AfterFunc(rest, release)
		} else {
			release()
		}
	}, err
}
