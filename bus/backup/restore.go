package backup

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/schemas"
)

const maxUnacknowledged = 512 // pending publish acknowledgements

// Checked is a backup that has passed Check.
type Checked struct {
	Summary
	source io.ReadSeeker
}

// Check verifies a whole backup, which starts at the current position of source. It returns
// an error that wraps ErrForeign, ErrLater, ErrDamaged or ErrNothing for an invalid one.
// The caller closes source after Restore.
func Check(source io.ReadSeeker) (c Checked, err error) {
	c.source = source
	c.Summary, err = read(source, func(entry) error { return nil })
	if err == nil && !slices.ContainsFunc(c.Buckets, func(b Bucket) bool { return b.Name == bucket.Catalog }) {
		err = fmt.Errorf("%w in the backup: the NATS server had none", ErrNothing)
	}
	return c, err
}

// Catalog calls each for the entries of the catalog in the order of their revisions, with a nil value for a deletion.
func (c Checked) Catalog(each func(key string, value []byte)) error {
	if _, err := c.source.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := read(c.source, func(e entry) error {
		if e.Bucket == bucket.Catalog && !internal(e.Key) {
			each(e.Key, e.data())
		}
		return nil
	})
	return err
}

// Restore writes the backup to the account of conn, and its API keys to the account of
// keys. New buckets have the given number of replicas; 0 means the number in the backup,
// which is reduced with a warning if the cluster has fewer servers. Existing buckets keep theirs. Nothing is
// changed unless all buckets of the backup are empty or absent, except those of the tags and of the audit
// log: existing tags and entries are kept. The audit log has the restore with the origin of ctx.
//
// Records keep their order and get new revisions, all higher than those of the backup.
// Workers process them like registrations.
func (c Checked) Restore(ctx context.Context, conn, keys *bus.Conn, replicas int) error {
	if _, err := c.source.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := &restoring{conn: conn, keys: keys, seen: map[string]bool{}, moved: map[string]revisions{}}
	for _, b := range c.Buckets {
		if fillable(b.Name) {
			continue
		}
		if err := r.empty(ctx, b.Name); err != nil {
			return err
		}
	}
	for _, b := range c.Buckets {
		if err := r.create(ctx, b, replicas, c.Revision); err != nil {
			return fmt.Errorf("create bucket %s: %w", b.Name, err)
		}
	}
	second, err := read(c.source, func(e entry) error { return r.put(ctx, e) })
	if err == nil && second.SHA256 != c.SHA256 {
		err = damaged("the file has changed since it was checked")
	}
	if err == nil {
		err = r.waitAcks(ctx, 0)
	}
	if err == nil {
		err = r.audit(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("the restore is incomplete; purge the buckets that it has written: %w", err)
	}
	return nil
}

// audit adds the restore to the audit log. A server without one has not been set up yet.
func (r *restoring) audit(ctx context.Context, c Checked) error {
	_, err := r.conn.JetStream().Stream(ctx, audit.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	e := schemas.AuditEntry{Action: schemas.ActionRestore, Origin: bus.OriginOf(ctx, r.conn)}
	if e.Message == "" {
		e.Message = fmt.Sprintf("backup of %s up to revision %d", c.Created.Format(time.RFC3339), c.Revision)
	}
	if err == nil {
		err = audit.Add(ctx, r.conn.JetStream(), e)
	}
	return err
}

type restoring struct {
	conn  *bus.Conn
	keys  *bus.Conn
	seen  map[string]bool // subjects
	sent  []sent
	moved map[string]revisions // by key of the catalog
}

// sent is an entry that may not be acknowledged yet.
type sent struct {
	jetstream.PubAckFuture
	entry entry
}

// revisions are the revision of a record in the backup and the restored one.
type revisions struct{ saved, restored uint64 }

func (r *restoring) js(name string) jetstream.JetStream { return jetStream(name, r.conn, r.keys) }

// empty returns an error that wraps ErrNotEmpty if the bucket contains values.
func (r *restoring) empty(ctx context.Context, name string) error {
	s, err := r.js(name).Stream(ctx, stream(name))
	if errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && s.CachedInfo().State.Msgs == 0 {
		return nil
	}
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = s.Info(ctx, jetstream.WithSubjectFilter(subject(name, ">")))
	}
	if err != nil {
		return fmt.Errorf("open bucket %s: %w", name, err)
	}
	for key := range info.State.Subjects {
		if !internal(strings.TrimPrefix(key, subject(name, ""))) {
			return fmt.Errorf("bucket %s %w: a backup can be restored only to an empty cluster, before records or keys are created", name, ErrNotEmpty)
		}
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
		c.PersistMode = jetstream.DefaultPersistMode // earlier releases used "async"
		bucket.Identify(&c)                          // a restored bucket is a new one
		s, err = createStream(ctx, r.js(b.Name), c, replicas)
	}
	if err != nil {
		return err
	}
	if b.Name == bucket.Catalog && s.CachedInfo().State.LastSeq < revision {
		return s.Purge(ctx, jetstream.WithPurgeSequence(revision+1))
	}
	return nil
}

// createStream creates the stream with the given number of replicas; 0 means the number of c, or a
// lower one if the cluster has fewer servers.
func createStream(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig,
	replicas int) (jetstream.Stream, error) {
	saved := max(1, c.Replicas)
	if c.Replicas = saved; replicas > 0 {
		c.Replicas = replicas
	}
	for {
		s, err := js.CreateStream(ctx, c)
		if replicas > 0 || c.Replicas == 1 || !bucket.TooFewServers(err) {
			if err == nil && replicas == 0 && c.Replicas < saved {
				slog.Warn("fewer NATS servers than replicas in the backup", "stream", c.Name, "replicas", c.Replicas,
					"replicas_in_backup", saved)
			}
			return s, err
		}
		c.Replicas--
	}
}

// put publishes an entry, unless it has expired, is a fence, or is the marker of a
// deletion, which an empty bucket does not need.
func (r *restoring) put(ctx context.Context, e entry) error {
	msg := nats.NewMsg(subject(e.Bucket, e.Key))
	switch msg.Data = e.data(); {
	case internal(e.Key), e.Removed && !r.seen[msg.Subject]:
		return nil
	case e.Removed:
		msg = bucket.Marker(msg.Subject)
	case e.Bucket == bucket.Quarantine:
		if err := r.waitAcks(ctx, 0); err != nil { // of the catalog, for the new revisions
			return err
		}
		if msg.Data = r.updateQuarantined(e.data()); msg.Data == nil {
			return nil
		}
	case !e.Expires.IsZero():
		left := time.Until(e.Expires)
		if left < time.Second {
			return nil
		}
		msg.Header.Set(jetstream.MsgTTLHeader, fmt.Sprintf("%.0fs", left.Truncate(time.Second).Seconds()))
	}
	if e.Bucket != bucket.Audit && !r.seen[msg.Subject] { // the server rejects it if another client has written the key
		r.seen[msg.Subject] = true
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
	}
	future, err := r.js(e.Bucket).PublishMsgAsync(msg)
	if err != nil {
		return err
	}
	r.sent = append(r.sent, sent{future, e})
	return r.waitAcks(ctx, maxUnacknowledged)
}

// updateQuarantined returns a quarantined record with its new revision, or nil if a later
// registration replaced it.
func (r *restoring) updateQuarantined(data []byte) []byte {
	var record schemas.QuarantinedRecord
	if json.Unmarshal(data, &record) != nil || r.moved[record.Key].saved != record.Revision {
		return nil
	}
	record.Revision = r.moved[record.Key].restored
	moved, _ := json.Marshal(record) // a decoded record can be encoded
	return moved
}

// waitAcks waits until at most the given number of messages are not yet acknowledged.
func (r *restoring) waitAcks(ctx context.Context, limit int) error {
	for len(r.sent) > limit {
		oldest := r.sent[0]
		select {
		case ack := <-oldest.Ok():
			if oldest.entry.Bucket == bucket.Catalog {
				r.moved[oldest.entry.Key] = revisions{oldest.entry.Revision, ack.Sequence}
			}
		case err := <-oldest.Err():
			// a tag that was written after the restore began stays
			if oldest.entry.Bucket != bucket.Tags || !bucket.Outdated(err) {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		r.sent = r.sent[1:]
	}
	return nil
}
