package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// Bucket is the name of the KV bucket.
	Bucket = bucket.Catalog
	// Stream is the JetStream stream of the bucket, for durable consumers.
	Stream = bucket.StreamPrefix + Bucket

	subjects = bucket.SubjectPrefix + Bucket + "."
	// retryInterval is the interval of the attempts of a conditional write, because an expired marker
	// is hidden from reads for a moment before the server removes it, and of a read of the history.
	retryInterval = 5 * time.Millisecond
)

// maxConsumers is the limit of the consumers of the log: one for each watch, and those of the projections.
// For a stream without a limit nats-server 2.15 permits 1,000.
const maxConsumers = 100_000

// maxRecord is the largest size of a message of the log, and maxReads that of all messages that requests
// of one process read at the same time. NATS closes a connection that does not receive responses in time,
// and the other requests of the process wait for them.
const (
	maxRecord = 1 << 20
	maxReads  = 32 << 20
	// historyBytes is the part of maxReads that a read of a history takes.
	historyBytes = (MaxHistory + 1) * maxRecord
	// mirrorTimeout bounds the wait of a read for the history, which is written asynchronously.
	mirrorTimeout = 500 * time.Millisecond
	// minWrite is the least time for the acknowledgement of a write.
	minWrite = time.Second
	// compareTimeout bounds the comparison of the log with its history.
	compareTimeout = 10 * time.Second
)

// Catalog reads and writes the log. It is safe for concurrent use and needs no
// closing.
type Catalog struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	id      string // of the log that was opened
	lossy   bool   // it had a loss that no operator has accepted
	reader  *bucket.Reader
	applied applied
	batches *admission.Pool // of changes that watches receive
	reads   *admission.Pool // bytes of the messages that requests read
}

// Setup creates or upgrades the bucket with file storage and the given number of
// replicas, and opens it.
func Setup(ctx context.Context, js jetstream.JetStream, replication bucket.Replication) (*Catalog, error) {
	stream, err := bucket.Setup(ctx, js, Bucket, replication, func(c *jetstream.StreamConfig) {
		c.Description = "records as registered: <kind>.<tenant>.<id>"
		c.AllowDirect = true // required by bucket.Reader
		c.AllowMsgTTL = true // of delete markers of earlier releases; cannot be disabled
		c.MaxConsumers = maxConsumers
	})
	if err != nil {
		return nil, err
	}
	c := open(js, stream)
	missing, err := c.compareHistory(ctx)
	switch {
	case errors.Is(err, ErrReplaced):
		if stream, err = bucket.MarkLoss(ctx, js, stream, bucket.Loss{Messages: missing}); err != nil {
			return nil, err
		}
		c = open(js, stream)
	case err != nil:
		slog.Warn("the catalog is not compared with its history", "err", err)
	}
	c.logLost(ctx)
	return c, nil
}

// Open opens the bucket. It waits for the bucket to exist until ctx ends.
func Open(ctx context.Context, js jetstream.JetStream) (*Catalog, error) {
	stream, err := bucket.Bind(ctx, js, Stream)
	if err != nil {
		return nil, err
	}
	return open(js, stream), nil
}

func open(js jetstream.JetStream, stream jetstream.Stream) *Catalog {
	_, lossy := bucket.LossOf(stream.CachedInfo())
	c := &Catalog{
		js: js, stream: stream, id: bucket.ID(stream.CachedInfo()), lossy: lossy,
		reader: bucket.NewReader(js, Bucket, stream), reads: admission.NewPool(maxReads),
	}
	// A watch that sends changes also uses a consumer of the NATS server and a relay of the edge, which no
	// concurrency limit covers.
	c.batches = admission.NewLongPool()
	c.applied.resumed = make(chan struct{}, 1)
	return c
}

// headerReplaces is the header of a write that replaces a record.
const headerReplaces = "Cairn-Replaces"

// Put is PutIf without a condition.
func (c *Catalog) Put(ctx context.Context, key Key, record []byte) (uint64, error) {
	w, err := c.PutIf(ctx, key, record, nil)
	return w.Revision, err
}

// Get returns the record of the key, including every write acknowledged before
// the call. It returns ErrNotFound if there is none.
func (c *Catalog) Get(ctx context.Context, key Key) (Revision, error) {
	msg, err := c.read(ctx, key)
	if err != nil {
		return Revision{}, err
	}
	return revisionOf(key, msg), nil
}

// read returns the newest message of the key, or ErrNotFound if it has been deleted.
func (c *Catalog) read(ctx context.Context, key Key) (*jetstream.RawStreamMsg, error) {
	encoded, err := key.encode()
	if err != nil {
		return nil, err
	}
	release, err := admission.Acquire(ctx, c.reads, maxRecord)
	defer release()
	if err != nil {
		return nil, wrap(err, "read", encoded)
	}
	msg, removed, err := c.newest(ctx, encoded)
	if removed {
		err = wrap(ErrNotFound, "read", encoded)
	}
	return msg, err
}

// Alias returns the revision that the key of an alias names, including every write acknowledged before the
// call. It returns ErrNotFound if there is none.
func (c *Catalog) Alias(ctx context.Context, key Key) (Version, error) {
	msg, err := c.read(ctx, key)
	if err != nil {
		return Version{}, err
	}
	return aliasOf(key, msg)
}

// AliasNames returns the names that aliases of the record have, or had before they were deleted, sorted.
func (c *Catalog) AliasNames(ctx context.Context, record Key) (names []string, err error) {
	encoded, err := record.encode()
	if err != nil {
		return nil, err
	}
	record.Alias = "*"
	if _, err = c.Fence(ctx); err == nil {
		var info *jetstream.StreamInfo
		if info, err = c.stream.Info(ctx, jetstream.WithSubjectFilter(subjects+record.String())); err == nil {
			for subject := range info.State.Subjects {
				key, _ := parseKey(strings.TrimPrefix(subject, subjects)) // a subject of the filter
				names = append(names, key.Alias)
			}
		}
	}
	slices.Sort(names)
	return names, wrap(err, "list the aliases of", encoded)
}

// PutIf writes the record if the condition permits it. If the newest record is equal, it does not write, and returns
// the revision of that record as unchanged. The checks and the write are atomic with respect to other writes of the
// key. Without a condition it assumes a new key, and reads the newest record only if there is one. After an error the
// record may have been written.
func (c *Catalog) PutIf(ctx context.Context, key Key, record []byte, permits Condition) (Written, error) {
	encoded, err := key.encode()
	if err != nil {
		return Written{}, err
	}
	msg := newMessage(ctx, nats.NewMsg(subjects+encoded))
	msg.Data = record
	w, err := c.writeIf(ctx, encoded, msg, permits)
	return w, wrap(err, "store", encoded)
}

// writeIf stores a record or a deletion marker if the condition permits it. It does not store a record that is equal to
// the newest one, whatever their headers, or a marker without a record: these are unchanged. The message of an earlier
// attempt of the request is a change.
func (c *Catalog) writeIf(ctx context.Context, encoded string, msg *nats.Msg,
	permits Condition) (w Written, err error) {
	id := bucket.MessageID(ctx, msg)
	for {
		last, removed := new(jetstream.RawStreamMsg), true
		if permits != nil {
			last, removed, err = c.newest(ctx, encoded)
		} else {
			permits = func(uint64) error { return nil }
		}
		if err == nil && last.Header.Get(jetstream.MsgIDHeader) == id { // stored by an attempt whose acknowledgement was lost
			return Written{Revision: last.Sequence, Replaces: last.Header.Get(headerReplaces) != ""}, nil
		}
		if err == nil {
			current := last.Sequence
			if removed {
				current = 0
			}
			err = permits(current)
		}
		removes := bucket.Removes(msg.Header)
		switch {
		case err != nil:
			return Written{}, err
		case removes && last.Sequence == 0 && !c.lossy: // else AcceptLoss would restore the record
			revision, err := c.Fence(ctx)
			return Written{Revision: revision, Unchanged: true}, err
		case removes && removed && last.Sequence > 0,
			!removes && !removed && bytes.Equal(last.Data, msg.Data):
			return Written{Revision: last.Sequence, Unchanged: true}, nil
		}
		w.Replaces = !removes && !removed
		if msg.Header.Del(headerReplaces); w.Replaces {
			msg.Header.Set(headerReplaces, "1")
		}
		// The expected revision makes concurrent deletions write one marker, and
		// repeats the check after a concurrent write.
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last.Sequence, 10))
		w.Revision, err = c.publish(ctx, msg)
		if !bucket.Outdated(err) {
			return w, err
		}
		if err := retry.Sleep(ctx, retryInterval); err != nil {
			return Written{}, err
		}
	}
}

// publish stores the message before ctx ends. It waits at least for minWrite for the acknowledgement of a message that
// it has sent, so that no client can choose a deadline after which the write is stored and its outcome unknown.
func (c *Catalog) publish(ctx context.Context, msg *nats.Msg) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < minWrite {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), minWrite)
		defer cancel()
	}
	return bucket.Publish(ctx, c.js, msg)
}

// newest returns the newest message of the key, an empty one if it was never written, and whether
// the key has no record.
func (c *Catalog) newest(ctx context.Context, encoded string) (msg *jetstream.RawStreamMsg, removed bool, err error) {
	msg, err = c.reader.Last(ctx, subjects+encoded)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return &jetstream.RawStreamMsg{}, true, nil
	}
	if err != nil {
		return nil, false, wrap(err, "read", encoded)
	}
	return msg, bucket.Removes(msg.Header), nil
}

// Stored returns the write of the key if the request of ctx (bucket.WithRequest) has made it, as an
// earlier attempt whose reply was lost may have; else zero.
func (c *Catalog) Stored(ctx context.Context, key Key) (w Written, err error) {
	encoded, err := key.encode()
	if err != nil {
		return w, err
	}
	last, _, err := c.newest(ctx, encoded)
	if err != nil || last.Header.Get(jetstream.MsgIDHeader) != bucket.MessageID(ctx, nats.NewMsg(subjects+encoded)) {
		return w, err
	}
	return Written{Revision: last.Sequence, Replaces: last.Header.Get(headerReplaces) != ""}, nil
}

// Delete removes the record if the condition permits it, and returns the revision of the deletion, and whether there
// was a record. Without one it writes nothing and returns a revision at which the record was already absent. The check
// and the deletion are atomic with respect to other writes of the key.
func (c *Catalog) Delete(ctx context.Context, key Key, permits Condition) (revision uint64, removed bool, err error) {
	encoded, err := key.encode()
	if err != nil {
		return 0, false, err
	}
	// The marker has no TTL: the server stores no tombstone for the record that it replaces, and would read it
	// again from its files after a crash if the marker had expired (nats-server issue 8505).
	w, err := c.writeIf(ctx, encoded, newMessage(ctx, bucket.Marker(subjects+encoded)), permits)
	return w.Revision, err == nil && !w.Unchanged, wrap(err, "delete", encoded)
}

// Replication returns the replication of the log and the storage limit derived from
// the limit of its bucket.
func (c *Catalog) Replication() bucket.Replication {
	return bucket.ReplicationOf(c.stream.CachedInfo())
}

// ID returns the identity of the log. A log that was deleted and created again has
// another ID, and revisions of different logs are not comparable.
func (c *Catalog) ID() string { return c.id }

// Revision returns the newest revision of the log, as reported by its leader; 0
// if nothing was written. It reads no record.
func (c *Catalog) Revision(ctx context.Context) (uint64, error) { return c.reader.State(ctx) }

// Fence returns a revision at or after every write acknowledged before the call.
// A view that has applied it includes all of those writes.
func (c *Catalog) Fence(ctx context.Context) (uint64, error) { return c.reader.Fence(ctx) }

// Changes calls apply with each selected change in order. Of the changes before the call,
// it passes only the newest one of each record. It receives at most maxWatchBatch messages before apply
// returns. The changes that all calls receive per second are limited, and divided among tenants. Changes
// returns the error of apply, or nil when ctx ends.
func (c *Catalog) Changes(ctx context.Context, selected Selection, apply func(Change) error) error {
	w, err := openWatch(ctx, c, selected)
	if err == nil {
		defer w.close()
	}
	for err == nil && ctx.Err() == nil {
		var batch []jetstream.Msg
		batch, err = w.next(ctx)
		for _, msg := range batch {
			change, err := ReadChange(msg)
			if err != nil {
				continue // not a record
			}
			if err := apply(change); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watch the catalog: %w", err)
}

// MaxBytes returns the size limit of the log, at most 0 if unlimited, as of the last call of Revision.
func (c *Catalog) MaxBytes() int64 { return c.stream.CachedInfo().Config.MaxBytes }

// Sizes calls apply for each message of the log, from its beginning and then as it
// grows. Messages that are not records have a zero Key. Calls do not overlap;
// revisions ascend. The returned function stops the calls and waits for the last
// one. newest is the last revision of the log at the call.
func (c *Catalog) Sizes(ctx context.Context, apply func(Size)) (newest uint64, stop func(), err error) {
	newest, consumer, err := c.startConsumer(ctx, "read the sizes of the catalog")
	if err != nil {
		return 0, nil, err
	}
	consuming, err := consumer.Consume(func(msg jetstream.Msg) {
		if size, err := sizeOf(msg); err == nil {
			apply(size)
		}
	}, jetstream.PullHeartbeat(heartbeat), jetstream.PullMaxMessagesWithBytesLimit(fetchMessages, fetchBytes))
	if err != nil {
		return 0, nil, fmt.Errorf("read the sizes of the catalog: %w", err)
	}
	return newest, func() {
		consuming.Stop()
		<-consuming.Closed()
	}, nil
}

// Follow calls apply with the changes of the log, from its beginning and then as
// it grows, in batches of the available changes. Calls do not overlap; revisions
// ascend without duplicates, except that the newest one may be repeated by a change that
// is not a record and has a higher watermark. Of each record only the newest revision is
// replayed.
// Follow calls ready, if not nil, once after apply has received everything that the
// log contained at the start. It survives lost connections and leader elections.
// It returns nil when ctx ends, the error of apply, or an error when the connection
// is closed.
func (c *Catalog) Follow(ctx context.Context, apply func([]Change) error, ready func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	target, consumer, err := c.startConsumer(ctx, "follow the catalog")
	if err != nil {
		return err
	}
	changes := make(chan Change, maxBatch)
	consuming, err := consumer.Consume(sendTo(ctx, changes), jetstream.PullHeartbeat(heartbeat),
		jetstream.PullMaxMessagesWithBytesLimit(fetchMessages, fetchBytes))
	if err != nil {
		return fmt.Errorf("follow the catalog: %w", err)
	}
	f := follower{changes: changes, closed: consuming.Closed(), apply: apply, log: c}
	err = f.run(ctx, target, ready)
	stop() // unblocks a handler that waits to send on changes
	consuming.Stop()
	<-f.closed
	return err
}

// startConsumer creates a consumer that replays the log, and returns the last revision of the replay.
// Errors begin with purpose, such as "read the catalog". While the cluster is not ready, it retries.
func (c *Catalog) startConsumer(ctx context.Context,
	purpose string) (target uint64, consumer jetstream.Consumer, err error) {
	err = bucket.WaitReady(ctx, c.js, purpose, func() (err error) { target, err = c.reader.End(ctx); return err })
	if err != nil {
		return 0, nil, err
	}
	if consumer, err = bucket.Ordered(ctx, c.js, c.stream, jetstream.OrderedConsumerConfig{}); err != nil {
		return 0, nil, fmt.Errorf("%s: %w", purpose, err)
	}
	return target, consumer, nil
}

// readAfter returns the next changes after the revision from any replica of the log, and
// whether the replica has no further ones: a replica performs no writes during such a read
// (nats-server, stream.go, getDirectRequest). It returns none if no replica responds.
func (c *Catalog) readAfter(ctx context.Context, revision uint64) (list []Change, complete bool) {
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	batch, err := jetstreamext.GetBatch(ctx, c.js, Stream, maxBatch, jetstreamext.GetBatchSubject(subjects+">"),
		jetstreamext.GetBatchSeq(revision+1), jetstreamext.GetBatchMaxBytes(readBytes))
	if err != nil {
		return nil, false
	}
	for msg, err := range batch {
		if err != nil {
			return list, errors.Is(err, jetstreamext.ErrNoMessages)
		}
		// a message that is not a record has a zero key
		change, _ := changeOf(msg)
		list = append(list, change)
		complete = msg.Header.Get("Nats-Num-Pending") == "0"
	}
	return list, complete && ctx.Err() == nil
}

// SetupHistory creates or upgrades the stream of the history. A history of another log is
// deleted, unless AcceptLoss needs it.
func (c *Catalog) SetupHistory(ctx context.Context, replication bucket.Replication) error {
	if _, open := bucket.LossOf(c.stream.CachedInfo()); open {
		return nil
	}
	source := c.stream.CachedInfo().Config
	config := jetstream.StreamConfig{
		Name:              HistoryStream,
		Description:       "earlier revisions of records",
		Mirror:            &jetstream.StreamSource{Name: Stream},
		MaxMsgsPerSubject: MaxHistory,
		MaxBytes:          -1,
		Discard:           jetstream.DiscardOld,
		Storage:           source.Storage,
		Replicas:          source.Replicas,
		Placement:         source.Placement,
		AllowDirect:       true,
		Metadata:          map[string]string{catalogID: c.ID()},
	}
	if replication.Storage.Bytes > 0 {
		config.MaxBytes = replication.Storage.Bytes * historyShare / 100
	}
	before, err := c.js.Stream(ctx, HistoryStream)
	switch {
	case err == nil && c.mirrors(before):
		// "async" if an earlier release created it; cannot be changed
		config.PersistMode = before.CachedInfo().Config.PersistMode
		_, err = bucket.Update(ctx, c.js, before, config)
		return err
	case err == nil:
		err = c.js.DeleteStream(ctx, HistoryStream)
	}
	if err == nil || errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = c.js.CreateOrUpdateStream(ctx, config)
	}
	return err
}

// mirrors reports whether the stream is the history of this log.
func (c *Catalog) mirrors(s jetstream.Stream) bool { return catalogOf(s) == c.ID() }

// Lost returns the records of a loss that no operator has accepted: those of which the history has a later
// revision than the log. It omits records that were registered or deleted since.
func (c *Catalog) Lost(ctx context.Context) (list []Lost, err error) {
	loss, open := bucket.LossOf(c.stream.CachedInfo())
	if !open {
		return nil, nil
	}
	history, err := c.js.Stream(ctx, HistoryStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && catalogOf(history) != loss.Bucket {
		return nil, nil
	}
	var stored, copied map[string]Change
	newest := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy}
	if err == nil {
		copied, err = newestOf(ctx, c.js, history, newest)
	}
	if err == nil {
		stored, err = newestOf(ctx, c.js, c.stream, newest)
	}
	if err != nil {
		return nil, fmt.Errorf("compare the catalog with its history: %w", err)
	}
	for subject, lost := range copied {
		newest := stored[subject]
		deleted := lost.Removed && newest.Revision == 0
		later := newest.Stored.After(lost.Stored) // written after the loss, with a revision that was used before
		if newest.Revision < lost.Revision && !deleted && !later {
			list = append(list, Lost{lost.Key, lost.Revision, subject, newest.Revision})
		}
	}
	slices.SortFunc(list, func(a, b Lost) int { return cmp.Compare(a.Revision, b.Revision) })
	return list, nil
}

// WrittenSince returns the newest revision of each record and alias, deletions included, that was stored at or after
// the time, without the records.
func (c *Catalog) WrittenSince(ctx context.Context, stored time.Time) (list []Change, err error) {
	written, err := newestOf(ctx, c.js, c.stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &stored,
	})
	if err != nil {
		return nil, fmt.Errorf("read the last changes of the catalog: %w", err)
	}
	return slices.Collect(maps.Values(written)), nil
}

// logLost logs the records that Lost returns.
func (c *Catalog) logLost(ctx context.Context) {
	list, err := c.Lost(ctx)
	if err != nil {
		slog.Error("lost records are unknown", "err", err)
	}
	if len(list) > 0 {
		slog.Error("records are lost: cairn doctor --accept-loss restores them from the history", "records", len(list),
			"first", list[:min(len(list), maxLogged)])
	}
}

// AcceptLoss restores the records that Lost returns, accepts the loss, and creates the history again. It returns
// the restored records with their new revisions, also after an error.
func (c *Catalog) AcceptLoss(ctx context.Context) (restored []Lost, err error) {
	list, err := c.Lost(ctx)
	if err != nil {
		return nil, err
	}
	for _, lost := range list {
		written, err := c.restore(ctx, lost)
		if err != nil {
			return restored, fmt.Errorf("restore %v: %w", lost, err)
		}
		if written > 0 {
			lost.Revision = written
			restored = append(restored, lost)
		}
	}
	if err = bucket.AcceptLoss(ctx, c.js, c.stream); err == nil {
		_, err = c.stream.Info(ctx)
	}
	if err == nil {
		err = c.SetupHistory(ctx, c.Replication())
	}
	return restored, err
}

// restore writes the revision of the history to the log, and returns the new one; 0 if the record has changed.
func (c *Catalog) restore(ctx context.Context, lost Lost) (written uint64, err error) {
	history, err := c.js.Stream(ctx, HistoryStream)
	if err != nil {
		return 0, err
	}
	stored, err := history.GetMsg(ctx, lost.Revision)
	if err != nil {
		return 0, err
	}
	msg := bucket.Marker(lost.subject)
	if !bucket.Removes(stored.Header) {
		msg = nats.NewMsg(lost.subject)
		msg.Data = stored.Data
	}
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(lost.before, 10))
	written, err = bucket.Publish(ctx, c.js, msg)
	if bucket.Outdated(err) {
		return 0, nil
	}
	return written, err
}

// History returns the revisions of the key that are retained, newest first. The newest one
// includes every write acknowledged before the call, unless that is a deletion whose marker
// has expired. Without a history the newest revision is the only one. Revisions are missing that
// were replaced before NATS could copy them to the history, or that it copies later than mirrorTimeout.
func (c *Catalog) History(ctx context.Context, key Key) ([]Revision, error) {
	encoded, err := key.encode()
	if err != nil {
		return nil, err
	}
	release, err := admission.Acquire(ctx, c.reads, historyBytes)
	defer release()
	if err != nil {
		return nil, wrap(err, "read the history of", encoded)
	}
	newest, _, err := c.newest(ctx, encoded)
	if err != nil {
		return nil, err
	}
	batch, err := c.readMirror(ctx, subjects+encoded, newest.Sequence)
	if err != nil {
		return nil, wrap(err, "read the history of", encoded)
	}
	if newest.Sequence > 0 {
		batch = slices.DeleteFunc(batch, func(msg *jetstream.RawStreamMsg) bool { return msg.Sequence >= newest.Sequence })
		batch = append(batch, newest)
	}
	var list []Revision
	for _, msg := range slices.Backward(batch) {
		list = append(list, revisionOf(key, msg))
	}
	return list[:min(len(list), MaxHistory)], nil
}

// Versions returns the revision of the record that has the alias, or else the retained ones with the version, newest
// first. It returns ErrNotFound if there is no record.
func (c *Catalog) Versions(ctx context.Context, record Key, name string) (list []Version, err error) {
	if schemas.ValidAlias(name) {
		if _, err := c.Get(ctx, record); err != nil {
			return nil, err
		}
		alias := record
		alias.Alias = name
		v, err := c.Alias(ctx, alias)
		if err == nil || !errors.Is(err, ErrNotFound) {
			return []Version{v}, err
		}
	}
	history, err := c.History(ctx, record)
	if err == nil && (len(history) == 0 || history[0].Removed) {
		err = wrap(ErrNotFound, "read the versions of", record.String())
	}
	if err != nil {
		return nil, err
	}
	for _, r := range history {
		fields, err := schemas.DecodeStored[schemas.Metadata](record.Kind, r.Record)
		if !r.Removed && err == nil && fields.Version == name {
			token := schemas.ConsistencyToken{Catalog: c.id, Revision: r.Revision}
			list = append(list, Version{token, r.Record, r.Stored})
		}
	}
	return list, nil
}

// At returns a revision of the key, or ErrNotFound if it is not retained.
func (c *Catalog) At(ctx context.Context, key Key, revision uint64) (Revision, error) {
	list, err := c.History(ctx, key)
	if err != nil {
		return Revision{}, err
	}
	i := slices.IndexFunc(list, func(r Revision) bool { return r.Revision == revision })
	if i < 0 {
		return Revision{}, wrap(ErrNotFound, "read", key.String())
	}
	return list[i], nil
}

// readMirror returns the messages of the subject in the history, in order; none if this log has no history. It
// waits, for mirrorTimeout at most, until the replica that responds has the newest message of the subject.
func (c *Catalog) readMirror(ctx context.Context, subject string,
	newest uint64) (batch []*jetstream.RawStreamMsg, err error) {
	waiting, cancel := context.WithTimeout(ctx, mirrorTimeout)
	defer cancel()
	for {
		s, err := c.js.Stream(ctx, HistoryStream)
		if errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && !c.mirrors(s) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		batch, err = bucket.Collect(jetstreamext.GetBatch(ctx, c.js, HistoryStream, MaxHistory,
			jetstreamext.GetBatchSubject(subject)))
		if err := errors.Join(err, ctx.Err()); err != nil { // Collect returns no error when ctx ends
			return nil, err
		}
		copied := len(batch) > 0 && batch[len(batch)-1].Sequence >= newest
		evicted := newest < s.CachedInfo().State.FirstSeq
		if copied || evicted || newest == 0 || retry.Sleep(waiting, retryInterval) != nil {
			return batch, nil
		}
	}
}

// Monitor checks, at the given interval and after a follower has lost its consumer, whether the log is the one
// that was opened, and contains the applied revisions. It returns an error that wraps [ErrReplaced] when it does
// not, or nil when ctx ends. It ignores checks that fail because the server is unavailable. At most one call
// runs at a time.
func (c *Catalog) Monitor(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for missing := 0; ; {
		select {
		case <-tick.C:
		case <-c.applied.resumed:
		case <-ctx.Done():
			return nil
		}
		now, err := c.js.Stream(ctx, Stream)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			if missing++; missing == missingChecks {
				return fmt.Errorf("%w: its stream does not exist", ErrReplaced)
			}
			continue
		case err != nil:
			continue
		case bucket.ID(now.CachedInfo()) != c.ID():
			return fmt.Errorf("%w: got ID %s, expected %s", ErrReplaced, bucket.ID(now.CachedInfo()), c.ID())
		}
		missing = 0
		if err := c.compare(ctx, now); errors.Is(err, ErrReplaced) {
			return err
		}
	}
}

// compare returns ErrReplaced if the log lacks a change at one of the applied positions, and
// another error if it cannot be read.
func (c *Catalog) compare(ctx context.Context, now jetstream.Stream) error {
	for _, p := range c.applied.unchecked() {
		if err := c.compareAt(ctx, now, p); err != nil {
			return err
		}
		c.applied.checked(p)
	}
	return nil
}

// compareHistory returns ErrReplaced if the log lacks the last change of its history, and by how many revisions
// it is shorter, at least 1.
func (c *Catalog) compareHistory(ctx context.Context) (missing uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	history, err := c.js.Stream(ctx, HistoryStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	copied := history.CachedInfo().State
	if !c.mirrors(history) || copied.Msgs == 0 {
		return 0, nil
	}
	now, err := c.js.Stream(ctx, Stream)
	if err != nil {
		return 0, err
	}
	last := now.CachedInfo().State.LastSeq
	return max(last+1, copied.LastSeq) - last, c.compareAt(ctx, now, position{copied.LastSeq, copied.LastTime})
}

// compareAt returns ErrReplaced if the log ends before the position, or has another change there.
func (c *Catalog) compareAt(ctx context.Context, now jetstream.Stream, p position) error {
	if now.CachedInfo().State.LastSeq < p.revision {
		last, err := c.Fence(ctx) // the leader that replied may have been deposed
		switch {
		case err != nil:
			return err
		case last < p.revision:
			return fmt.Errorf("%w by an older copy: it ends at revision %d, and revision %d was applied", ErrReplaced, last,
				p.revision)
		}
	}
	msg, err := now.GetMsg(ctx, p.revision)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound): // a later revision has replaced it
		return nil
	case err == nil && !msg.Time.Equal(p.stored):
		return fmt.Errorf("%w by an older copy: revision %d was stored at %v, but the applied one at %v",
			ErrReplaced, p.revision, msg.Time, p.stored)
	}
	return err
}
