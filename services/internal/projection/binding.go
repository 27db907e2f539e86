package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	ackWait = 30 * time.Second
	// maxCount and maxBytes bound a batch. Bytes are estimated from the size of
	// earlier records.
	maxCount = 256
	maxBytes = 8 << 20
	// largeRecord is the assumed size of a record before the first one.
	largeRecord = 1 << 20
	// maxPending allows a full batch for each of 32 workers.
	maxPending = 32 * maxCount
	// inactiveThreshold is the inactivity after which the server deletes a consumer; a
	// generation used after that is filled from the beginning. Older deletions are no
	// longer in the log: such a generation retains their documents, which searches drop,
	// until cairn reindex.
	inactiveThreshold = 7 * 24 * time.Hour
	// idlePoll is the maximum poll wait between checks; startupPoll applies while a
	// generation is not live.
	idlePoll    = 5 * time.Second
	startupPoll = 100 * time.Millisecond
	// batchInterval is the interval at which a partial batch is extended.
	batchInterval = 5 * time.Millisecond
)

// consumerBinding is the generation that a projector writes to, with its shared consumer.
type consumerBinding struct {
	generation string
	consumer   jetstream.Consumer
	live       bool      // whether searches read it, when last checked
	promoted   bool      // by this projector, which promotes once
	checked    time.Time // when the generation was last checked
	size       int       // mean size of the last records, in bytes; initially largeRecord
}

func durable(generation string) string { return "cairn_index_" + generation }

// batchSize returns the number of messages to fetch.
func (t *consumerBinding) batchSize() int { return max(1, min(maxCount, maxBytes/max(t.size, 1))) }

// available returns up to limit messages without waiting.
func (t *consumerBinding) available(limit int) ([]jetstream.Msg, error) {
	return collect(t.consumer.FetchNoWait(limit))
}

// next waits for messages, up to idlePoll.
func (t *consumerBinding) next(ctx context.Context) ([]jetstream.Msg, error) {
	timeout := startupPoll
	if t.promoted {
		timeout = idlePoll
	}
	polling, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	first, err := collect(t.consumer.Fetch(1, jetstream.FetchContext(polling)))
	if err != nil && polling.Err() != nil {
		err = ctx.Err()
	}
	if err != nil || len(first) == 0 {
		return first, err
	}
	messages, err := t.available(t.batchSize() - 1)
	if err != nil {
		return first, nil // the next call retries
	}
	return append(first, messages...), nil
}

// extend extends the batch until it is full or no other batch is in progress: an index
// applies many changes in little more time than one. It ends before AckWait expires.
func (t *consumerBinding) extend(ctx context.Context, group []jetstream.Msg, w work, end time.Time) []jetstream.Msg {
	for w.busy() && len(group) < t.batchSize() && time.Now().Before(end) {
		select {
		case <-w.ended:
		case <-time.After(batchInterval):
		case <-ctx.Done():
			return group
		}
		messages, err := t.available(t.batchSize() - len(group))
		if err != nil {
			return group // the next call retries
		}
		group = append(group, messages...)
	}
	return group
}

func collect(batch jetstream.MessageBatch, err error) ([]jetstream.Msg, error) {
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	var all []jetstream.Msg
	for m := range batch.Messages() {
		all = append(all, m)
	}
	if err := batch.Error(); err != nil && len(all) == 0 {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return all, nil
}

// appliedRevision returns the revision up to which the whole log was applied.
func appliedRevision(info *jetstream.ConsumerInfo) uint64 {
	if info.NumPending == 0 && info.NumAckPending == 0 {
		return info.Delivered.Stream
	}
	return info.AckFloor.Stream
}
