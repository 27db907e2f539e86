package catalog

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/admission"
	"cairn/bus/bucket"
)

const (
	// maxWatchBatch is the number of changes after which a watch that catches up yields to others.
	maxWatchBatch = 64
	// watchBytes is the largest number of bytes of a batch, and of a request for messages.
	watchBytes = 2 * maxRecord
	// receiveTimeout bounds the wait for a message that the server has announced: it may have removed it.
	receiveTimeout = 200 * time.Millisecond
	// changeTime is the time for which a change counts, which limits the changes per second that the watches
	// of a process receive. One takes about 50 µs of CPU time: in the NATS server, this process and an edge.
	changeTime = 50 * time.Microsecond
	// minCounted is the number of changes that count together: the shortest timers take about 1 ms.
	minCounted = int(time.Millisecond / changeTime)
)

// Selection selects changes.
type Selection struct {
	Kind    string   // of the records; empty: every kind
	Tenants []string // of the records
	After   uint64   // revision before the first change
}

// filters returns the subjects of the changes. The server compares each subject of the log with each filter.
func (s Selection) filters() (list []string) {
	for _, tenant := range s.Tenants {
		list = append(list, subjects+Key{Kind: cmp.Or(s.Kind, "*"), Tenant: tenant}.String()+">")
	}
	return list
}

// watch receives the changes of a call of Changes in batches.
type watch struct {
	catalog   *Catalog
	consumer  jetstream.Consumer
	messages  jetstream.MessagesContext
	pending   uint64 // messages that the server had after the last one
	uncounted int    // changes since the last batch
}

// openWatch creates the consumer of a watch. The caller closes the watch.
func openWatch(ctx context.Context, c *Catalog, selected Selection) (*watch, error) {
	w := &watch{catalog: c}
	end, err := startBatch(ctx, c.batches)
	defer func() { end(0) }()
	if err != nil {
		return nil, err
	}
	w.consumer, err = bucket.Ordered(ctx, c.js, c.stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: selected.filters(),
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: selected.After + 1,
	})
	if err != nil {
		return nil, err
	}
	// Messages are requested when none is left, so that the server, which compares many subjects to select
	// each, does so during a batch.
	w.messages, err = w.consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(maxWatchBatch, watchBytes),
		jetstream.PullThresholdMessages(1), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		bucket.Release(c.stream, w.consumer)
		return nil, err
	}
	w.pending = w.consumer.CachedInfo().NumPending
	return w, nil
}

// close also deletes the consumer: clients may start many watches in a minute.
func (w *watch) close() {
	w.messages.Stop()
	bucket.Release(w.catalog.stream, w.consumer)
}

// next returns the next messages: those that the server has, at most maxWatchBatch and watchBytes. It waits
// for the first one.
func (w *watch) next(ctx context.Context) (batch []jetstream.Msg, err error) {
	size := 0
	if w.pending == 0 {
		msg, err := w.receive(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		if batch, size = append(batch, msg), len(msg.Data()); w.pending == 0 && w.uncounted < minCounted {
			return batch, nil
		}
	}
	end, err := startBatch(ctx, w.catalog.batches)
	defer func() { end(w.uncounted); w.uncounted = 0 }()
	if err != nil {
		return nil, err
	}
	for w.pending > 0 && len(batch) < maxWatchBatch && size < watchBytes-maxRecord {
		msg, err := w.receive(jetstream.NextMaxWait(receiveTimeout))
		if errors.Is(err, nats.ErrTimeout) {
			w.pending = 0
			break
		}
		if err != nil {
			return batch, err
		}
		batch, size = append(batch, msg), size+len(msg.Data())
	}
	return batch, nil
}

func (w *watch) receive(option jetstream.NextOpt) (jetstream.Msg, error) {
	msg, err := w.messages.Next(option)
	if err != nil {
		return nil, err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	w.pending = meta.NumPending
	w.uncounted++
	return msg, nil
}

// startBatch waits until a watch of the tenant of ctx may receive a batch. The caller calls end, also after an
// error, which is that of ctx, with the number of changes that count. The batch takes a unit until then, and at
// least for changeTime for each change.
func startBatch(ctx context.Context, batches *admission.Pool) (end func(changes int), err error) {
	release, err := admission.Acquire(ctx, batches, 1)
	began := time.Now()
	return func(changes int) {
		if rest := time.Duration(changes)*changeTime - time.Since(began); rest > 0 {
			time.AfterFunc(rest, release)
		} else {
			release()
		}
	}, err
}
