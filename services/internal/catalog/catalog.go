// Package catalog is the log of record: every registered record, in a
// JetStream KV bucket, at a revision that only grows. All else that knows
// records is a view of it, fed by Catalog.Follow, and can be rebuilt.
//
// What Put and Delete acknowledge is on disk when the server runs with
// sync_interval: always. A stream has no such setting of its own: the server
// applies it to all its streams, and one that may lose its last moments opts
// out with the persist mode "async".
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
	// Stream is the JetStream stream behind the bucket, for those who bind a
	// durable consumer to it.
	Stream = bucket.StreamPrefix + Bucket

	subjects = bucket.SubjectPrefix + Bucket + "."
)

// ErrNotFound is what Get answers for a key without a record.
var ErrNotFound = errors.New("record not found")

// Entry is a record at the revision that wrote it.
type Entry struct {
	Key      Key
	Record   []byte // as registered; not to be modified
	Revision uint64
}

// Catalog reads and writes the log. It may be used concurrently and needs no
// closing.
type Catalog struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	reader  *bucket.Reader
	commits commits
}

// Setup creates the bucket, or upgrades one that exists, with its messages in
// files on as many servers as copies says, and opens it.
func Setup(ctx context.Context, js jetstream.JetStream, copies bucket.Copies) (*Catalog, error) {
	stream, err := bucket.Setup(ctx, js, Bucket, copies, func(c *jetstream.StreamConfig) {
		c.Description = "records as registered: <kind>.<tenant>.<id>"
		c.AllowDirect = true        // for the reader
		c.AllowAtomicPublish = true // writes that wait for the disk are committed together
	})
	if err != nil {
		return nil, err
	}
	return open(js, stream), nil
}

// Open opens the bucket, and waits for it until ctx ends.
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

// Put writes the record and answers with its revision. An error may leave
// open whether it was written.
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

// Get sees every write that was acknowledged before. It answers ErrNotFound when there is none.
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

// Delete removes the record and answers with the revision that did. Where
// there is none nothing is written, and the answer is a revision at which it
// was already gone.
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
		// Only over the revision just read: two who delete at once write one
		// marker, and a record that came in between is looked at again.
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

// wrap says what was attempted on which key, if anything failed.
func wrap(err error, attempted, encoded string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", attempted, encoded, err)
}

// last is the newest revision of the key, and whether nothing is there. A key
// that was never written is gone at the newest revision of the whole log.
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

// Copies returns how the log is kept, and the limit of all buckets that follows
// from its own.
func (c *Catalog) Copies() bucket.Copies { return bucket.CopiesOf(c.stream.CachedInfo()) }

// ID tells this log from every other, such as one that was made anew: their
// revisions cannot be compared.
func (c *Catalog) ID() string { return bucket.ID(c.stream.CachedInfo()) }

// Revision returns the newest revision in the log, 0 when it is empty, as its
// leader reports it. It reads no record.
func (c *Catalog) Revision(ctx context.Context) (uint64, error) { return c.reader.State(ctx) }

// Fence returns a revision that is not before any write that was acknowledged
// before the call. A view that has applied it holds all of those writes.
func (c *Catalog) Fence(ctx context.Context) (uint64, error) { return c.reader.Fence(ctx) }
