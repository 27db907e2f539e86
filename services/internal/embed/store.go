package embed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/bucket"
	"cairn/services/internal/breaker"
)

const (
	// Bucket is the name of the KV bucket of the vectors.
	Bucket = bucket.Embeddings

	stream   = bucket.StreamPrefix + Bucket
	subjects = bucket.SubjectPrefix + Bucket + "."
	// queryTTL is the TTL of queries, which are numerous and rarely repeated: it prevents
	// them from displacing documents.
	queryTTL = "168h"
	// maxGet is half the server's limit of 1,024 messages per batch get.
	maxGet = 512
)

// getTimeouts bound a cache request by purpose. Waiting longer would take more time than embedding.
var getTimeouts = [2]time.Duration{Document: 2 * time.Second, Query: 250 * time.Millisecond}

// Cache stores vectors in a JetStream KV bucket, shared by all processes. It may be
// used concurrently and needs no closing.
type Cache struct {
	js      jetstream.JetStream
	breaker *breaker.Breaker
}

// Setup creates the bucket, or upgrades one that exists, with the replication. It deletes one of an earlier
// release in persist mode "async".
func Setup(ctx context.Context, js jetstream.JetStream, replication bucket.Replication) error {
	if s, err := js.Stream(ctx, stream); err == nil && bucket.Async(s) {
		if err := js.DeleteStream(ctx, stream); err != nil {
			return fmt.Errorf("delete stream %s: %w", stream, err)
		}
	}
	_, err := bucket.Setup(ctx, js, Bucket, replication, configure)
	return err
}

// OpenCache opens the bucket. It does not wait for one that does not exist.
func OpenCache(ctx context.Context, js jetstream.JetStream) (*Cache, error) {
	if _, err := js.Stream(ctx, stream); err != nil {
		return nil, fmt.Errorf("open stream %s: %w", stream, err)
	}
	return &Cache{js, newBreaker()}, nil
}

// configure configures the bucket as a cache: it discards the oldest vectors instead of
// rejecting new ones.
func configure(c *jetstream.StreamConfig) {
	c.Description = "vectors by model, purpose and text; may be deleted"
	c.Discard = jetstream.DiscardOld
	c.AllowDirect = true // a lagging replica lacks vectors at most
	c.AllowMsgTTL = true
}

// put stores data asynchronously, without acknowledgement: it can be recomputed.
func (c *Cache) put(purpose Purpose, key string, data []byte) {
	msg := nats.NewMsg(subjects + key)
	msg.Data = data
	if purpose == Query {
		msg.Header.Set(jetstream.MsgTTLHeader, queryTTL)
	}
	_ = c.js.Conn().PublishMsg(msg)
}

// get returns the entries found; none when the server fails.
func (c *Cache) get(ctx context.Context, purpose Purpose, keys []string) map[string][]byte {
	entries := map[string][]byte{}
	if !c.js.Conn().IsConnected() {
		return entries
	}
	for some := range slices.Chunk(keys, maxGet) {
		err := c.breaker.Do(ctx, func() error {
			return limit(ctx, getTimeouts[purpose], func(ctx context.Context) error {
				return c.fetch(ctx, some, entries)
			})
		})
		if err != nil {
			return entries
		}
	}
	return entries
}

// fetch gets the last messages of many subjects in one batch (ADR-31).
func (c *Cache) fetch(ctx context.Context, keys []string, entries map[string][]byte) error {
	lastBySubject := make([]string, len(keys))
	for i, key := range keys {
		lastBySubject[i] = subjects + key
	}
	list, err := bucket.Collect(jetstreamext.GetLastMsgsFor(ctx, c.js, stream, lastBySubject))
	for _, msg := range list {
		entries[strings.TrimPrefix(msg.Subject, subjects)] = msg.Data
	}
	return cmp.Or(err, ctx.Err()) // Collect returns no error when ctx has ended
}
