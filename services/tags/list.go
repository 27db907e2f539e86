package tags

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	// maxLists is the number of lists of a worker in progress, divided among tenants. Each has a consumer.
	maxLists = 16
	// endInterval is the time without a message after which receiveAll checks whether it has reached the end.
	endInterval = time.Second
	// receiveTimeout bounds the wait for the next message: a server that starts, or is busy, may pause.
	receiveTimeout = 30 * time.Second
	// defaultPull is the number of messages that a consumer requests at a time.
	defaultPull = 500
)

// receiveAll calls take with the messages of the consumer until it returns false or there are no more. It requests
// pull messages at a time; 0: defaultPull.
func receiveAll(ctx context.Context, consumer jetstream.Consumer, pull int,
	take func(jetstream.Msg, *jetstream.MsgMetadata) bool) error {
	if consumer.CachedInfo().NumPending == 0 {
		return nil
	}
	if pull == 0 {
		pull = defaultPull
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(pull))
	if err != nil {
		return err
	}
	defer messages.Stop()
	received := time.Now()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(endInterval))
		if errors.Is(err, nats.ErrTimeout) && time.Since(received) < receiveTimeout && ctx.Err() == nil {
			if info, err := consumer.Info(ctx); err == nil && info.NumPending == 0 {
				return nil // the last tags have expired or were deleted meanwhile
			}
			continue
		}
		if err != nil {
			return err
		}
		received = time.Now()
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if !take(msg, meta) || meta.NumPending == 0 {
			return nil
		}
	}
}

// header is what the headers of a message say about a tag.
type header struct {
	key
	ttl  time.Duration
	size int64 // of its JSON, in bytes
}

// parseHeader returns the header of a message of a consumer without payloads; ok is false if it is no tag.
func parseHeader(msg jetstream.Msg) (h header, ok bool) {
	k, ok := parseKey(msg.Subject())
	ttl, err := time.ParseDuration(msg.Headers().Get(jetstream.MsgTTLHeader))
	if !ok || err != nil || bucket.Removes(msg.Headers()) {
		return header{}, false
	}
	size, err := strconv.ParseInt(msg.Headers().Get(nats.MsgSize), 10, 64)
	return header{k, ttl, size}, err == nil
}

// summarize returns the summary of a tag; ok is false for other messages.
func summarize(msg jetstream.Msg, meta *jetstream.MsgMetadata) (summary schemas.TagSummary, ok bool) {
	h, ok := parseHeader(msg)
	if !ok {
		return summary, false
	}
	return schemas.TagSummary{
		RequestID: h.id, CreatedAt: meta.Timestamp.UTC().Format(time.RFC3339Nano),
		ExpiresAt: meta.Timestamp.Add(h.ttl).UTC().Format(time.RFC3339Nano), Size: h.size,
	}, true
}
