package backup

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
)

// ahead is how many messages are sent before the first is acknowledged.
const ahead = 512

// Restore writes the backup to the account of conn, and its API keys to that of keys,
// with the given replicas (0: those of existing buckets, or of the backup, or as many as
// there are servers, with a warning). It changes nothing unless all buckets of the backup
// are empty or absent.
//
// Records keep the order of their revisions, and get new ones, all larger than
// those of the backup. Workers take them as they take registrations.
func (c Checked) Restore(ctx context.Context, conn, keys *bus.Conn, replicas int) error {
	if _, err := c.from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := &restoring{conn: conn, keys: keys, last: map[string]uint64{}, moved: map[string]revisions{}}
	for _, b := range c.Buckets {
		if err := r.empty(ctx, b.Name); err != nil {
			return err
		}
	}
	for _, b := range c.Buckets {
		if err := r.make(ctx, b, replicas, c.Revision); err != nil {
			return fmt.Errorf("make bucket %s: %w", b.Name, err)
		}
	}
	again, err := read(c.from, func(e entry) error { return r.put(ctx, e) })
	if err == nil && again.SHA256 != c.SHA256 {
		err = damaged("it was changed since it was checked")
	}
	if err == nil {
		err = r.settle(ctx, 0)
	}
	if err != nil {
		return fmt.Errorf("the restore is not whole, purge what it has written: %w", err)
	}
	return nil
}

// restoring is a backup that is being brought back.
type restoring struct {
	conn  *bus.Conn
	keys  *bus.Conn
	last  map[string]uint64 // sequence of each bucket's stream
	sent  []jetstream.PubAckFuture
	moved map[string]revisions // of the catalog's keys
}

// revisions are those of a record, in the backup and now.
type revisions struct{ was, is uint64 }

func (r *restoring) js(name string) jetstream.JetStream { return jetStream(name, r.conn, r.keys) }

// empty says whether there is nothing in the bucket, or no bucket.
func (r *restoring) empty(ctx context.Context, name string) error {
	s, err := r.js(name).Stream(ctx, stream(name))
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for bucket %s: %w", name, err)
	case s.CachedInfo().State.Msgs > 0:
		return fmt.Errorf("bucket %s %w, and a backup is restored to an empty cluster alone", name, ErrNotEmpty)
	}
	return nil
}

// make makes the bucket as it was, where it is absent, and has the catalog go on
// after the revisions of the backup: readers who have seen those wait for no
// revision that never comes.
func (r *restoring) make(ctx context.Context, b Bucket, replicas int, revision uint64) error {
	s, err := r.js(b.Name).Stream(ctx, stream(b.Name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		var c jetstream.StreamConfig
		if err := stdjson.Unmarshal(b.Config, &c); err != nil {
			return damaged("settings of bucket %s: %v", b.Name, err)
		}
		c.Name, c.Subjects, c.Placement = stream(b.Name), []string{subject(b.Name, ">")}, nil
		bucket.Identify(&c) // it is another one
		s, err = create(ctx, r.js(b.Name), c, replicas)
	}
	if err != nil {
		return err
	}
	last := s.CachedInfo().State.LastSeq
	if b.Name == bucket.Catalog && last < revision {
		if err := s.Purge(ctx, jetstream.WithPurgeSequence(revision+1)); err != nil {
			return err
		}
		last = revision
	}
	r.last[b.Name] = last
	return nil
}

// create makes the stream, on so many servers; 0: on as many as c says, or as
// there are.
func create(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig, replicas int) (jetstream.Stream, error) {
	was := max(1, c.Replicas)
	if c.Replicas = was; replicas > 0 {
		c.Replicas = replicas
	}
	for {
		s, err := js.CreateStream(ctx, c)
		if replicas > 0 || c.Replicas == 1 || !bucket.TooFew(err) {
			if err == nil && replicas == 0 && c.Replicas < was {
				slog.Warn("there are fewer NATS servers than the backup was kept by", "stream", c.Name, "kept by", c.Replicas, "was kept by", was)
			}
			return s, err
		}
		c.Replicas--
	}
}

// put sends an entry. It is refused when anyone else writes.
func (r *restoring) put(ctx context.Context, e entry) error {
	msg := nats.NewMsg(subject(e.Bucket, e.Key))
	switch msg.Data = e.data(); {
	case e.Removed:
		msg = bucket.Marker(msg.Subject)
	case e.Bucket == bucket.Quarantine:
		if msg.Data = r.moveAside(e.data()); msg.Data == nil {
			return nil
		}
	}
	future, err := r.js(e.Bucket).PublishMsgAsync(msg, jetstream.WithExpectLastSequence(r.last[e.Bucket]))
	if err != nil {
		return err
	}
	r.last[e.Bucket]++
	if e.Bucket == bucket.Catalog {
		r.moved[e.Key] = revisions{e.Revision, r.last[e.Bucket]}
	}
	r.sent = append(r.sent, future)
	return r.settle(ctx, ahead)
}

// moveAside is a record that is set aside, at its new revision; nil when it was
// replaced since.
func (r *restoring) moveAside(data []byte) []byte {
	var record schemas.QuarantinedRecord
	if json.Unmarshal(data, &record) != nil || r.moved[record.Key].was != record.Revision {
		return nil
	}
	record.Revision = r.moved[record.Key].is
	moved, _ := json.Marshal(record) // what could be read can be written
	return moved
}

// settle waits until at most so many messages are not acknowledged.
func (r *restoring) settle(ctx context.Context, most int) error {
	for len(r.sent) > most {
		select {
		case <-r.sent[0].Ok():
			r.sent = r.sent[1:]
		case err := <-r.sent[0].Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
