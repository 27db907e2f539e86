package embed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
	nc         *nats.Conn
	getSubject string // the subject of direct gets
	breaker    *breaker.Breaker
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
	prefix := js.Options().APIPrefix
	if prefix == "" {
		prefix = jetstream.DefaultAPIPrefix
	}
	return &Cache{
		nc:         js.Conn(),
		getSubject: strings.TrimSuffix(prefix, ".") + ".DIRECT.GET." + stream,
		breaker:    newBreaker(),
	}, nil
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
	_ = c.nc.PublishMsg(msg)
}

// get returns the entries found; none when the server fails.
func (c *Cache) get(ctx context.Context, purpose Purpose, keys []string) map[string][]byte {
	entries := map[string][]byte{}
	if !c.nc.IsConnected() {
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

// fetch gets the last messages of many subjects in one batch (ADR-31). The replies of
// jetstreamext.GetLastMsgsFor are below the inbox of the connection's requests too, so the
// server would send each vector twice.
func (c *Cache) fetch(ctx context.Context, keys []string, entries map[string][]byte) error {
	lastBySubject := make([]string, len(keys))
	for i, key := range keys {
		lastBySubject[i] = subjects + key
	}
	request, err := json.Marshal(map[string]any{"multi_last": lastBySubject})
	if err != nil {
		return err
	}
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := c.nc.PublishRequest(c.getSubject, inbox, request); err != nil {
		return err
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return err
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			entries[strings.TrimPrefix(msg.Header.Get(jetstream.SubjectHeader), subjects)] = msg.Data
		case "204", "404": // end of batch; not found
			return nil
		default:
			return fmt.Errorf("get vectors: %s %s", status, msg.Header.Get("Description"))
		}
	}
}
