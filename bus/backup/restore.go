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

// maxUnacknowledged is the maximum number of pending publish acknowledgements.
const maxUnacknowledged = 512

// Restore writes the backup to the account of conn, and its API keys to that of keys.
// New buckets have the given number of replicas; 0 means that of the backup, reduced with
// a warning to what the cluster supports. Existing buckets keep theirs. Nothing is changed
// unless all buckets of the backup are empty or absent.
//
// Records keep their order and get new revisions, all higher than those of the backup.
// Workers process them like registrations.
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
		if err := r.create(ctx, b, replicas, c.Revision); err != nil {
			return fmt.Errorf("create bucket %s: %w", b.Name, err)
		}
	}
	second, err := read(c.from, func(e entry) error { return r.put(ctx, e) })
	if err == nil && second.SHA256 != c.SHA256 {
		err = damaged("the file has changed since it was checked")
	}
	if err == nil {
		err = r.awaitAcks(ctx, 0)
	}
	if err != nil {
		return fmt.Errorf("the restore is incomplete; purge the buckets that it has written: %w", err)
	}
	return nil
}

// restoring is the state of a Restore.
type restoring struct {
	conn  *bus.Conn
	keys  *bus.Conn
	last  map[string]uint64 // last sequence of the stream, by bucket
	sent  []jetstream.PubAckFuture
	moved map[string]revisions // by key of the catalog
}

// revisions are the revision of a record in the backup and the restored one.
type revisions struct{ was, is uint64 }

func (r *restoring) js(name string) jetstream.JetStream { return jetStream(name, r.conn, r.keys) }

// empty returns an error that wraps ErrNotEmpty if the bucket contains messages.
func (r *restoring) empty(ctx context.Context, name string) error {
	s, err := r.js(name).Stream(ctx, stream(name))
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("open bucket %s: %w", name, err)
	case s.CachedInfo().State.Msgs > 0:
		return fmt.Errorf("bucket %s %w: a backup can be restored only to an empty cluster", name, ErrNotEmpty)
	}
	return nil
}

// create creates the bucket with its saved configuration if it is absent. The catalog
// continues after the last revision of the backup, so that a request with a minimum
// revision from before the restore can be satisfied.
func (r *restoring) create(ctx context.Context, b Bucket, replicas int, revision uint64) error {
	s, err := r.js(b.Name).Stream(ctx, stream(b.Name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		var c jetstream.StreamConfig
		if err := stdjson.Unmarshal(b.Config, &c); err != nil {
			return damaged("configuration of bucket %s: %v", b.Name, err)
		}
		c.Name, c.Subjects, c.Placement = stream(b.Name), []string{subject(b.Name, ">")}, nil
		bucket.Identify(&c) // a restored bucket is a new one
		s, err = createStream(ctx, r.js(b.Name), c, replicas)
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

// createStream creates the stream with the given number of replicas; 0 means that of c, or
// fewer if the cluster has fewer servers.
func createStream(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig, replicas int) (jetstream.Stream, error) {
	was := max(1, c.Replicas)
	if c.Replicas = was; replicas > 0 {
		c.Replicas = replicas
	}
	for {
		s, err := js.CreateStream(ctx, c)
		if replicas > 0 || c.Replicas == 1 || !bucket.TooFewServers(err) {
			if err == nil && replicas == 0 && c.Replicas < was {
				slog.Warn("fewer NATS servers than replicas in the backup", "stream", c.Name, "replicas", c.Replicas, "replicas_in_backup", was)
			}
			return s, err
		}
		c.Replicas--
	}
}

// put publishes an entry. The server rejects it if another client has written to the bucket.
func (r *restoring) put(ctx context.Context, e entry) error {
	msg := nats.NewMsg(subject(e.Bucket, e.Key))
	switch msg.Data = e.data(); {
	case e.Removed:
		msg = bucket.Marker(msg.Subject)
	case e.Bucket == bucket.Quarantine:
		if msg.Data = r.updateQuarantined(e.data()); msg.Data == nil {
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
	return r.awaitAcks(ctx, maxUnacknowledged)
}

// updateQuarantined returns a quarantined record with its new revision, or nil if a later
// registration replaced it.
func (r *restoring) updateQuarantined(data []byte) []byte {
	var record schemas.QuarantinedRecord
	if json.Unmarshal(data, &record) != nil || r.moved[record.Key].was != record.Revision {
		return nil
	}
	record.Revision = r.moved[record.Key].is
	moved, _ := json.Marshal(record) // a decoded record can be encoded
	return moved
}

// awaitAcks waits until at most the given number of messages are not yet acknowledged.
func (r *restoring) awaitAcks(ctx context.Context, most int) error {
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
