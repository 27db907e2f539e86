package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	// HistoryStream is the JetStream stream of the earlier revisions of records: a mirror of
	// Stream, which keeps only the newest revision of each. The mirror has the same revisions,
	// is written asynchronously, and discards its oldest messages when it is full, so that
	// earlier revisions cost no write its time or its place.
	HistoryStream = "cairn_history"
	// MaxHistory is the number of revisions of a record in the history, including the newest
	// one and deletions.
	MaxHistory = schemas.MaxHistory

	// historyShare is the percentage of the storage that the history may use.
	historyShare = 8
	// catalogID is the metadata key of the mirror with the ID of its log.
	catalogID = "cairn-catalog"
)

// Revision is a revision of a record.
type Revision struct {
	Record    []byte // nil if Removed
	Revision  uint64
	Stored    time.Time
	Removed   bool
	Generated []string // see Change
}

// SetupHistory creates or upgrades the stream of the history. A history of another log is
// deleted.
func (c *Catalog) SetupHistory(ctx context.Context, replication bucket.Replication) error {
	of := c.stream.CachedInfo().Config
	config := jetstream.StreamConfig{
		Name:              HistoryStream,
		Description:       "earlier revisions of records",
		Mirror:            &jetstream.StreamSource{Name: Stream},
		MaxMsgsPerSubject: MaxHistory,
		MaxBytes:          -1,
		Discard:           jetstream.DiscardOld,
		Storage:           of.Storage,
		Replicas:          of.Replicas,
		Placement:         of.Placement,
		AllowDirect:       true,
		Metadata:          map[string]string{catalogID: c.ID()},
	}
	if replication.Storage.Bytes > 0 {
		config.MaxBytes = replication.Storage.Bytes * historyShare / 100
	}
	before, err := c.js.Stream(ctx, HistoryStream)
	if err == nil && !c.mirrors(before) {
		err = c.js.DeleteStream(ctx, HistoryStream)
	}
	if err == nil || errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = c.js.CreateOrUpdateStream(ctx, config)
	}
	return err
}

// mirrors reports whether the stream is the history of this log.
func (c *Catalog) mirrors(s jetstream.Stream) bool {
	return s.CachedInfo().Config.Metadata[catalogID] == c.ID()
}

// History returns the revisions of the key that are retained, newest first. The newest one
// includes every write acknowledged before the call, unless that is a deletion whose marker
// has expired. Revisions in close succession may be missing. Without a history the newest
// revision is the only one.
func (c *Catalog) History(ctx context.Context, key Key) ([]Revision, error) {
	encoded, err := key.encode()
	if err != nil {
		return nil, err
	}
	list, err := c.earlier(ctx, key, subjects+encoded)
	if err != nil {
		return nil, wrap(err, "read the history of", encoded)
	}
	switch msg, err := c.reader.Last(ctx, subjects+encoded); {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return nil, wrap(err, "read", encoded)
	default:
		list = slices.DeleteFunc(list, func(r Revision) bool { return r.Revision >= msg.Sequence })
		list = append(list, revisionOf(key, msg))
	}
	slices.Reverse(list)
	return list[:min(len(list), MaxHistory)], nil
}

// At returns a revision of the key, or ErrNotFound if it is not retained.
func (c *Catalog) At(ctx context.Context, key Key, revision uint64) (Revision, error) {
	encoded, err := key.encode()
	if err != nil {
		return Revision{}, err
	}
	last, err := c.reader.Last(ctx, subjects+encoded)
	if err == nil && last.Sequence == revision {
		return revisionOf(key, last), nil
	}
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return Revision{}, wrap(err, "read", encoded)
	}
	s, err := c.history(ctx)
	if s == nil && err == nil {
		return Revision{}, wrap(ErrNotFound, "read", encoded)
	}
	var msg *jetstream.RawStreamMsg
	if err == nil {
		msg, err = s.GetMsg(ctx, revision)
	}
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && msg.Subject != subjects+encoded:
		return Revision{}, wrap(ErrNotFound, "read", encoded)
	case err != nil:
		return Revision{}, wrap(err, "read the history of", encoded)
	}
	return revisionOf(key, msg), nil
}

// history returns the stream of the history, nil if there is none of this log.
func (c *Catalog) history(ctx context.Context) (jetstream.Stream, error) {
	s, err := c.js.Stream(ctx, HistoryStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && !c.mirrors(s) {
		return nil, nil
	}
	return s, err
}

// earlier returns the messages of the key and its subject in the history, in order.
func (c *Catalog) earlier(ctx context.Context, key Key, subject string) (list []Revision, err error) {
	if s, err := c.history(ctx); s == nil || err != nil {
		return nil, err
	}
	batch, err := jetstreamext.GetBatch(ctx, c.js, HistoryStream, MaxHistory, jetstreamext.GetBatchSubject(subject))
	if err != nil {
		return nil, err
	}
	for msg, err := range batch {
		switch {
		case errors.Is(err, jetstreamext.ErrNoMessages):
			return nil, nil
		case err != nil:
			return nil, err
		}
		list = append(list, revisionOf(key, msg))
	}
	return list, ctx.Err() // the iterator ends without an error then
}

func revisionOf(key Key, msg *jetstream.RawStreamMsg) Revision {
	r := Revision{Revision: msg.Sequence, Stored: msg.Time, Removed: bucket.Removes(msg.Header)}
	if !r.Removed {
		r.Record, r.Generated = schemas.NormalizeRecord(key.Kind, msg.Data), generated(msg.Header)
	}
	return r
}
