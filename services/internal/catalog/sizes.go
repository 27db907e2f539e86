package catalog

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// Size is a revision of the log without its record.
type Size struct {
	Key      Key
	Bytes    int64 // length of key and record; 0 if Removed
	Revision uint64
	Removed  bool
}

// Sizes calls apply for each record of the log, from its beginning and then as it
// grows. Messages that are not records have a zero Key. Calls do not overlap;
// revisions ascend. The returned function stops the calls and waits for the last
// one. newest is the last revision of the log at the call.
func (c *Catalog) Sizes(ctx context.Context, apply func(Size)) (newest uint64, stop func(), err error) {
	newest, consumer, err := c.begin(ctx, "read the sizes of the catalog",
		jetstream.OrderedConsumerConfig{NamePrefix: bucket.ConsumerPrefix(), HeadersOnly: true, InactiveThreshold: time.Minute})
	if err != nil {
		return 0, nil, err
	}
	consuming, err := consumer.Consume(func(msg jetstream.Msg) {
		if size, err := sizeOf(msg); err == nil {
			apply(size)
		}
	}, jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return 0, nil, fmt.Errorf("read the sizes of the catalog: %w", err)
	}
	return newest, func() {
		consuming.Stop()
		<-consuming.Closed()
	}, nil
}

func sizeOf(msg jetstream.Msg) (Size, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Size{}, err
	}
	size := Size{Revision: meta.Sequence.Stream, Removed: bucket.Removes(msg.Headers())}
	encoded := strings.TrimPrefix(msg.Subject(), subjects)
	if key, err := ParseKey(encoded); err == nil {
		size.Key = key
	}
	if !size.Removed {
		bytes, _ := strconv.ParseInt(msg.Headers().Get("Nats-Msg-Size"), 10, 64) // set by the server
		size.Bytes = bytes + int64(len(encoded))
	}
	return size, nil
}
