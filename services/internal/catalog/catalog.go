// Package catalog is the log of all registrations and deletions, and the source
// of truth: a JetStream key-value bucket with ascending revisions. Everything
// else that stores records is a projection, fed by Catalog.Follow, that can be
// rebuilt.
//
// Writes acknowledged by Put and Delete are on disk if the server runs with
// sync_interval: always. JetStream has no such setting per stream: the server
// applies it to all streams, and a stream that tolerates the loss of its last
// writes opts out with the persist mode "async".
package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	// Bucket is the name of the KV bucket.
	Bucket = bucket.Catalog
	// Stream is the JetStream stream of the bucket, for durable consumers.
	Stream = bucket.StreamPrefix + Bucket

	subjects = bucket.SubjectPrefix + Bucket + "."
)

// markerTTL is the time to live of the marker of a deletion, which every start replays.
// A projection that has not followed the log for longer has to be rebuilt.
const markerTTL = 7 * 24 * time.Hour

// ErrNotFound is returned by Get for a key without a record.
var ErrNotFound = errors.New("record not found")

// Entry is a record and the revision of its last write.
type Entry struct {
	Key      Key
	Record   []byte // normalized by schemas.Normalized; must not be modified
	Revision uint64
}

// maxAhead is the number of messages that Changes receives ahead of apply.
const maxAhead = 64

// Catalog reads and writes the log. It is safe for concurrent use and needs no
// closing. history.go has the methods for earlier revisions, follow.go and watch.go those for
// followers of the log.
type Catalog struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	reader  *bucket.Reader
	commits commits
	applied applied
}

// Setup creates or upgrades the bucket with file storage and the given number of
// replicas, and opens it.
func Setup(ctx context.Context, js jetstream.JetStream, replication bucket.Replication) (*Catalog, error) {
	stream, err := bucket.Setup(ctx, js, Bucket, replication, func(c *jetstream.StreamConfig) {
		c.Description = "records as registered: <kind>.<tenant>.<id>"
		c.AllowDirect = true        // required by bucket.Reader
		c.AllowAtomicPublish = true // concurrent writes are committed in batches
		c.AllowMsgTTL = true        // delete markers expire
	})
	if err != nil {
		return nil, err
	}
	return open(js, stream), nil
}

// Open opens the bucket. It waits for the bucket to exist until ctx ends.
func Open(ctx context.Context, js jetstream.JetStream) (*Catalog, error) {
	stream, err := bucket.Bind(ctx, js, Bucket)
	if err != nil {
		return nil, err
	}
	return open(js, stream), nil
}

func open(js jetstream.JetStream, stream jetstream.Stream) *Catalog {
	c := &Catalog{js: js, stream: stream, reader: bucket.NewReader(js, Bucket, stream)}
	c.commits.js = js
	c.commits.batches = stream.CachedInfo().Config.AllowAtomicPublish
	return c
}

// headerReplaces is the header of a write that replaces a record.
const headerReplaces = "Cairn-Replaces"

// Put writes the record and returns its revision. After an error the record may
// have been written.
func (c *Catalog) Put(ctx context.Context, key Key, record []byte) (uint64, error) {
	return c.put(ctx, key, record, false)
}

// Replace is Put for a record that probably exists, as [Change.Replaces] tells followers.
func (c *Catalog) Replace(ctx context.Context, key Key, record []byte) (uint64, error) {
	return c.put(ctx, key, record, true)
}

func (c *Catalog) put(ctx context.Context, key Key, record []byte, replaces bool) (uint64, error) {
	encoded, err := key.encode()
	if err != nil {
		return 0, err
	}
	msg := nats.NewMsg(subjects + encoded)
	msg.Data = record
	if replaces {
		msg.Header.Set(headerReplaces, "1")
	}
	bucket.Identified(msg)
	revision, err := c.commits.put(ctx, msg, func() (uint64, error) { return bucket.Publish(ctx, c.js, msg) })
	return revision, wrap(err, "store", encoded)
}

// Get returns the record of the key, including every write acknowledged before
// the call. It returns ErrNotFound if there is none.
func (c *Catalog) Get(ctx context.Context, key Key) (Entry, error) {
	encoded, err := key.encode()
	if err != nil {
		return Entry{}, err
	}
	msg, err := c.reader.Last(ctx, subjects+encoded)
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && bucket.Removes(msg.Header) {
		return Entry{}, wrap(ErrNotFound, "read", encoded)
	}
	if err != nil {
		return Entry{}, wrap(err, "read", encoded)
	}
	return Entry{Key: key, Record: schemas.NormalizeRecord(key.Kind, msg.Data), Revision: msg.Sequence}, nil
}

// maxSimilar bounds the segments of an id that Similar varies.
const maxSimilar = 4

// Similar returns ids of the tenant's records of the kind of key that differ from its id in
// one of the first segments.
func (c *Catalog) Similar(ctx context.Context, key Key) (ids []string, err error) {
	encoded, err := key.encode()
	if err != nil {
		return nil, err
	}
	tokens := strings.Split(encoded, ".")
	for i := 2; i < min(len(tokens), 2+maxSimilar); i++ { // after the kind and the tenant
		pattern := slices.Clone(tokens)
		pattern[i] = "*"
		info, err := c.stream.Info(ctx, jetstream.WithSubjectFilter(subjects+strings.Join(pattern, ".")))
		if err != nil {
			return nil, wrap(err, "list", encoded)
		}
		for subject := range info.State.Subjects {
			if key, err := ParseKey(strings.TrimPrefix(subject, subjects)); err == nil {
				ids = append(ids, key.ID)
			}
		}
	}
	return ids, nil
}

// Condition decides from the revision of the current record, 0 for none, whether a write
// is performed. Its error is returned instead.
type Condition func(revision uint64) error

// PutIf is Put if the condition permits it. No other write comes between the decision
// and this one.
func (c *Catalog) PutIf(ctx context.Context, key Key, record []byte, permits Condition) (uint64, error) {
	encoded, err := key.encode()
	if err != nil {
		return 0, err
	}
	for {
		last, gone, err := c.newest(ctx, encoded)
		if err == nil {
			err = permits(existing(last, gone))
		}
		if err != nil {
			return 0, err
		}
		msg := nats.NewMsg(subjects + encoded)
		msg.Data = record
		if !gone {
			msg.Header.Set(headerReplaces, "1")
		}
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last, 10))
		revision, err := bucket.Publish(ctx, c.js, msg)
		if !bucket.Outdated(err) {
			return revision, wrap(err, "store", encoded)
		}
		if err := pause(ctx); err != nil {
			return 0, wrap(err, "store", encoded)
		}
	}
}

// pause separates the attempts of a conditional write: an expired marker is hidden from
// reads for a moment before the server removes it.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

// existing returns the revision of a record, 0 if it is gone.
func existing(last uint64, gone bool) uint64 {
	if gone {
		return 0
	}
	return last
}

// newest returns the newest revision of the key, 0 if it was never written, and whether
// the key has no record.
func (c *Catalog) newest(ctx context.Context, encoded string) (revision uint64, gone bool, err error) {
	msg, err := c.reader.Last(ctx, subjects+encoded)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, wrap(err, "read", encoded)
	}
	return msg.Sequence, bucket.Removes(msg.Header), nil
}

// Delete removes the record and returns the revision of the deletion. Without a
// record it writes nothing and returns a revision at which the record was
// already absent.
func (c *Catalog) Delete(ctx context.Context, key Key) (uint64, error) {
	return c.DeleteIf(ctx, key, func(uint64) error { return nil })
}

// DeleteIf is Delete if the condition permits it. No other write comes between the
// decision and this one.
func (c *Catalog) DeleteIf(ctx context.Context, key Key, permits Condition) (uint64, error) {
	encoded, err := key.encode()
	if err != nil {
		return 0, err
	}
	msg := bucket.Marker(subjects + encoded)
	msg.Header.Set(jetstream.MsgTTLHeader, markerTTL.String())
	for {
		last, gone, err := c.last(ctx, encoded)
		if err == nil {
			err = permits(existing(last, gone))
		}
		if gone || err != nil {
			return last, err
		}
		// The expected revision makes concurrent deletions write one marker, and
		// repeats the check after a concurrent write.
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last, 10))
		revision, err := bucket.Publish(ctx, c.js, msg)
		if !bucket.Outdated(err) {
			return revision, wrap(err, "delete", encoded)
		}
		if err := pause(ctx); err != nil {
			return 0, wrap(err, "delete", encoded)
		}
	}
}

// wrap adds the operation and the key to a non-nil error.
func wrap(err error, attempted, encoded string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", attempted, encoded, err)
}

// last returns the newest revision of the key, and whether the key has no record.
// For a key that was never written it returns a revision of the log after all its writes.
func (c *Catalog) last(ctx context.Context, encoded string) (revision uint64, gone bool, err error) {
	revision, gone, err = c.newest(ctx, encoded)
	if err == nil && revision == 0 {
		revision, err = c.Fence(ctx)
	}
	return revision, gone, err
}

// Replication returns the replication of the log and the storage limit derived from
// the limit of its bucket.
func (c *Catalog) Replication() bucket.Replication {
	return bucket.ReplicationOf(c.stream.CachedInfo())
}

// ID returns the identity of the log. A log that was deleted and created again has
// another ID, and revisions of different logs are not comparable.
func (c *Catalog) ID() string { return bucket.ID(c.stream.CachedInfo()) }

// Revision returns the newest revision of the log, as reported by its leader; 0
// if nothing was written. It reads no record.
func (c *Catalog) Revision(ctx context.Context) (uint64, error) { return c.reader.State(ctx) }

// Fence returns a revision at or after every write acknowledged before the call.
// A view that has applied it includes all of those writes.
func (c *Catalog) Fence(ctx context.Context) (uint64, error) { return c.reader.Fence(ctx) }

// Changes calls apply with each change after the revision of the kind's records in the
// collections of the tenants, in order; an empty kind is every kind. Of changes before the
// call it has the newest one of each record. It does not receive more than a few changes
// ahead of apply. It returns the error of apply, or nil when ctx ends.
func (c *Catalog) Changes(ctx context.Context, kind string, tenants []string, after uint64, apply func(Change) error) error {
	kinds := []string{kind}
	if kind == "" {
		kinds = schemas.Kinds()
	}
	var filters []string
	for _, kind := range kinds {
		for _, tenant := range tenants {
			filters = append(filters, subjects+Key{Kind: kind, Tenant: tenant}.String()+">")
		}
	}
	var consumer jetstream.Consumer
	err := bucket.Await(ctx, c.js, "watch the catalog", func() (err error) {
		consumer, err = bucket.Ordered(ctx, c.stream, jetstream.OrderedConsumerConfig{
			FilterSubjects: filters,
			DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		})
		return err
	})
	if err != nil {
		return err
	}
	defer bucket.Release(c.stream, consumer) // clients may start many watches in a minute
	messages, err := consumer.Messages(jetstream.PullMaxMessages(maxAhead), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return fmt.Errorf("watch the catalog: %w", err)
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("watch the catalog: %w", err)
		}
		change, err := ReadChange(msg)
		if err != nil {
			continue // not a record
		}
		if err := apply(change); err != nil {
			return err
		}
	}
}

// Sizes calls apply for each record of the log, from its beginning and then as it
// grows. Messages that are not records have a zero Key. Calls do not overlap;
// revisions ascend. The returned function stops the calls and waits for the last
// one. newest is the last revision of the log at the call.
func (c *Catalog) Sizes(ctx context.Context, apply func(Size)) (newest uint64, stop func(), err error) {
	newest, consumer, err := c.begin(ctx, "read the sizes of the catalog",
		jetstream.OrderedConsumerConfig{HeadersOnly: true})
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
