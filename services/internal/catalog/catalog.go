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

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

const (
	// Bucket is the name of the KV bucket.
	Bucket = bucket.Catalog
	// Stream is the JetStream stream of the bucket, for durable consumers.
	Stream = bucket.StreamPrefix + Bucket

	subjects = bucket.SubjectPrefix + Bucket + "."
)

// ErrNotFound is returned by Get for a key without a record.
var ErrNotFound = errors.New("record not found")

// Entry is a record and the revision of its last write.
type Entry struct {
	Key      Key
	Record   []byte // as registered; must not be modified
	Revision uint64
}

// Catalog reads and writes the log. It is safe for concurrent use and needs no
// closing.
type Catalog struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	reader  *bucket.Reader
	commits commits
}

// Setup creates or upgrades the bucket with file storage and the given number of
// replicas, and opens it.
func Setup(ctx context.Context, js jetstream.JetStream, copies bucket.Copies) (*Catalog, error) {
	stream, err := bucket.Setup(ctx, js, Bucket, copies, func(c *jetstream.StreamConfig) {
		c.Description = "records as registered: <kind>.<tenant>.<id>"
		c.AllowDirect = true        // required by bucket.Reader
		c.AllowAtomicPublish = true // concurrent writes are committed in batches
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
	c.commits.conn = js.Conn()
	c.commits.batches = stream.CachedInfo().Config.AllowAtomicPublish
	return c
}

// Put writes the record and returns its revision. After an error the record may
// have been written.
func (c *Catalog) Put(ctx context.Context, key Key, record []byte) (uint64, error) {
	encoded, err := key.encode()
	if err != nil {
		return 0, err
	}
	revision, err := c.commits.put(ctx, subjects+encoded, record, func() (uint64, error) {
		ack, err := c.js.Publish(ctx, subjects+encoded, record)
		if err != nil {
			return 0, err
		}
		return ack.Sequence, nil
	})
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
	return Entry{Key: key, Record: msg.Data, Revision: msg.Sequence}, nil
}

// Delete removes the record and returns the revision of the deletion. Without a
// record it writes nothing and returns a revision at which the record was
// already absent.
func (c *Catalog) Delete(ctx context.Context, key Key) (uint64, error) {
	encoded, err := key.encode()
	if err != nil {
		return 0, err
	}
	for {
		last, gone, err := c.last(ctx, encoded)
		if gone || err != nil {
			return last, err
		}
		// The expected revision makes concurrent deletions write one marker, and
		// repeats the check after a concurrent write.
		ack, err := c.js.PublishMsg(ctx, bucket.Marker(subjects+encoded), jetstream.WithExpectLastSequencePerSubject(last))
		if bucket.Outdated(err) {
			continue
		}
		if err != nil {
			return 0, wrap(err, "delete", encoded)
		}
		return ack.Sequence, nil
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
// For a key that was never written it returns the newest revision of the log.
func (c *Catalog) last(ctx context.Context, encoded string) (revision uint64, gone bool, err error) {
	msg, err := c.reader.Last(ctx, subjects+encoded)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		revision, err = c.Revision(ctx)
		return revision, true, err
	}
	if err != nil {
		return 0, false, wrap(err, "read", encoded)
	}
	return msg.Sequence, bucket.Removes(msg.Header), nil
}

// Copies returns the replication of the log and the storage limit derived from
// the limit of its bucket.
func (c *Catalog) Copies() bucket.Copies { return bucket.CopiesOf(c.stream.CachedInfo()) }

// ID returns the identity of the log. A log that was deleted and created again has
// another ID, and revisions of different logs are not comparable.
func (c *Catalog) ID() string { return bucket.ID(c.stream.CachedInfo()) }

// Revision returns the newest revision of the log, as reported by its leader; 0
// if the log is empty. It reads no record.
func (c *Catalog) Revision(ctx context.Context) (uint64, error) { return c.reader.State(ctx) }

// Fence returns a revision at or after every write acknowledged before the call.
// A view that has applied it includes all of those writes.
func (c *Catalog) Fence(ctx context.Context) (uint64, error) { return c.reader.Fence(ctx) }
