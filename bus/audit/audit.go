// Package audit stores who changed which record or key, and why: a JetStream stream with an entry for each change.
//
// An entry of a record has the ID of the record's revision, so that it is stored once although several workers may
// add it. The entry is durable before the change is acknowledged. The oldest entries are discarded: those of each
// tenant, of its keys and of the global scope separately, and of all if the stream is full.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// Stream is the JetStream stream of the log.
	Stream = bucket.StreamPrefix + bucket.Audit
	// DefaultRetention is the time for which entries are retained.
	DefaultRetention = 90 * 24 * time.Hour
	// MinRetention is the shortest retention: the time for which the stream rejects duplicates.
	MinRetention = 2 * time.Minute
	// MaxEntries is the number of entries of a tenant, of its keys, and of the global scope, that a stream without a limit
	// retains. bucket.Setup reduces it for a small stream.
	MaxEntries = 50_000

	// subjects is followed by records, or keys, which another NATS user adds, and the tenant.
	subjects = bucket.SubjectPrefix + bucket.Audit + "."
	// writeTimeout bounds the write of an entry. The deadline of its request does not: a client could choose one that
	// suffices for the change and not for the entry.
	writeTimeout = 5 * time.Second
	// window is the number of entries of a read. readTime is the time after which a page ends, and maxPages the number
	// of pages that a worker reads at the same time, divided among tenants.
	window   = 1000
	readTime = 2 * time.Second
	maxPages = 4
	// replicaTimeout bounds the wait for a replica that lacks the newest entries.
	replicaTimeout  = 500 * time.Millisecond
	replicaInterval = 5 * time.Millisecond
	// clockSkew bounds the difference of the clocks of NATS servers and workers.
	clockSkew = time.Minute
)

// Setup creates or upgrades the stream, which retains entries for the time.
func Setup(ctx context.Context, js jetstream.JetStream, replication bucket.Replication, retention time.Duration) error {
	_, err := bucket.Setup(ctx, js, bucket.Audit, replication, func(c *jetstream.StreamConfig) {
		c.Description = "who changed which record or key, and why"
		c.MaxMsgsPerSubject = MaxEntries
		c.MaxAge = retention
		c.Discard = jetstream.DiscardOld
		c.AllowRollup = false // which removes messages
		c.AllowDirect = true
	})
	return err
}

// Add stores an entry with the current time, unless it has a time. It retries for writeTimeout, also if ctx ends.
func Add(ctx context.Context, js jetstream.JetStream, e schemas.AuditEntry) error {
	msg, err := newMessage(e)
	if err == nil {
		err = publish(context.WithoutCancel(ctx), js, msg)
	}
	return err
}

// newMessage returns the message of an entry.
func newMessage(e schemas.AuditEntry) (*nats.Msg, error) {
	scope := "records."
	if e.Kind == schemas.KindKey {
		scope = "keys."
	}
	msg := nats.NewMsg(subjects + scope + token(e.TenantID))
	if e.Revision != "" {
		msg.Header.Set(jetstream.MsgIDHeader, e.Revision)
	}
	if e.Time == "" {
		e.Time = time.Now().UTC().Format(time.RFC3339Nano)
	}
	var err error
	if msg.Data, err = json.Marshal(e); err != nil {
		return nil, fmt.Errorf("write the audit log: %w", err)
	}
	return msg, nil
}

// token returns the tenant as a token of a subject; empty: the global scope.
func token(tenant string) string {
	if tenant == "" {
		return schemas.GlobalTenant
	}
	return bucket.EncodeToken(tenant)
}

// publish stores the message. It retries until the message is acknowledged, or for writeTimeout or until ctx ends.
func publish(ctx context.Context, js jetstream.JetStream, msg *nats.Msg) error {
	limited, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := bucket.Publish(limited, js, msg)
	if err == nil {
		return nil
	}
	checked, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, missing := bucket.Describe(checked, js, Stream); errors.Is(missing, bucket.ErrNoStream) {
		err = missing
	}
	return fmt.Errorf("write the audit log: %w", err)
}

// Log reads the log. It may be used concurrently and needs no closing.
type Log struct {
	js       jetstream.JetStream
	stream   jetstream.Stream
	pages    *admission.Pool
	readTime time.Duration
}

// Open opens the log. It waits for the stream until ctx ends.
func Open(ctx context.Context, js jetstream.JetStream) (*Log, error) {
	s, err := bucket.Bind(ctx, js, Stream)
	return &Log{js, s, admission.NewPool(maxPages), readTime}, err
}

// Page returns the entries that a valid query selects. It reads for about readTime, so that a page may be shorter than
// its limit.
func (l *Log) Page(ctx context.Context, q schemas.AuditQuery) (page schemas.AuditList, err error) {
	page.Entries = []schemas.AuditEntry{}
	release, err := admission.Acquire(ctx, l.pages, 1)
	defer release()
	if err != nil {
		return page, err
	}
	w, err := l.open(ctx, q)
	if err != nil {
		return page, err
	}
	since, until := parseTime(q.Since), parseTime(q.Until)
	limit := schemas.ValueOr(q.Limit, schemas.DefaultLimit)
	for started := time.Now(); ; {
		batch, err := w.next(ctx)
		if err != nil || len(batch) == 0 {
			return page, err
		}
		for _, s := range batch {
			// The time of an entry may be older than that of its message, if it was restored or added late, and so does not
			// tell where the entries since a time end.
			if s.stored.Before(since.Add(-clockSkew)) {
				return page, nil
			}
			date := parseTime(s.Time)
			if !selects(q, s.AuditEntry) || date.Before(since) || !until.IsZero() && !date.Before(until) {
				continue
			}
			if len(page.Entries) == limit {
				page.NextCursor = cursor(s.sequence + 1)
				return page, nil
			}
			page.Entries = append(page.Entries, s.AuditEntry)
		}
		if w.end > w.first && time.Since(started) >= l.readTime {
			page.NextCursor = cursor(w.end)
			return page, nil
		}
	}
}

// selects reports whether the query selects the entry, regardless of its time.
func selects(q schemas.AuditQuery, e schemas.AuditEntry) bool {
	matches := func(want, got string) bool { return want == "" || got == want }
	return (q.TenantID == nil || *q.TenantID == e.TenantID) && matches(q.Kind, e.Kind) && matches(q.ID, e.ID) &&
		matches(q.Actor, e.Actor) && matches(q.Action, e.Action)
}

// parseTime returns the time of a valid text; zero for an empty one.
func parseTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

// Recent returns the entries of the latest n messages, the latest first, or of fewer if a tenant may have no more
// entries. Each change since the returned time has its entry among them, or none. The time is zero for an empty log.
func (l *Log) Recent(ctx context.Context, n int64) (list []schemas.AuditEntry, since time.Time, err error) {
	w, err := l.open(ctx, schemas.AuditQuery{})
	if err != nil {
		return nil, since, err
	}
	if limit := w.config.MaxMsgsPerSubject; limit > 0 { // an earlier message may have been discarded
		n = min(n, limit)
	}
	whole := w.first == 1 && w.end-w.first <= uint64(n)
	if !whole {
		w.first = max(w.first, w.end-min(w.end, uint64(n)))
	}
	var newest time.Time
	for {
		batch, err := w.next(ctx)
		if err != nil {
			return nil, since, err
		}
		if len(batch) == 0 {
			break
		}
		if len(list) == 0 {
			newest = batch[0].stored
		}
		for _, s := range batch {
			list = append(list, s.AuditEntry)
		}
		since = batch[len(batch)-1].stored
	}
	switch {
	case len(list) == 0:
	case whole: // an entry before the first one is missing
		since = since.Add(-clockSkew)
	default: // of changes close together, as in an import, the later half
		since = since.Add(min(clockSkew, newest.Sub(since)/2))
	}
	return list, since, nil
}

// stored is an entry with its sequence and time in the stream.
type stored struct {
	schemas.AuditEntry
	sequence uint64
	stored   time.Time
}

// windows reads the log backwards.
type windows struct {
	*Log
	config     jetstream.StreamConfig
	subject    string // of the entries that are read; those of the first window are not selected by it
	last       uint64 // sequence of the newest entry
	first, end uint64 // the entries that were not read: sequences from first to before end
	span       uint64 // length of the next window
}

// open returns the windows of the tenant of the query, before its cursor.
func (l *Log) open(ctx context.Context, q schemas.AuditQuery) (*windows, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	last := info.State.LastSeq
	w := &windows{l, info.Config, subjects + ">", last, max(1, info.State.FirstSeq), last + 1, window}
	if q.TenantID != nil {
		w.subject = subjects + "*." + token(*q.TenantID)
	}
	if q.Cursor != "" {
		end, err := parseCursor(q.Cursor)
		if err != nil {
			return nil, err
		}
		w.end = min(w.end, end)
	}
	return w, nil
}

// next returns the entries of the next window that has some, the latest first; none at the end of the log. A window is
// longer if few of its entries have the subject.
func (w *windows) next(ctx context.Context) (list []stored, err error) {
	for len(list) == 0 && w.end > w.first {
		start := w.first
		if w.end-w.first > w.span {
			start = w.end - w.span
		}
		batch, err := w.read(ctx, start)
		if err != nil {
			return nil, err
		}
		if len(batch) == window && batch[window-1].Sequence+1 < w.end {
			w.span = (w.end - start) / 2
			continue
		}
		for _, msg := range slices.Backward(batch) {
			s := stored{sequence: msg.Sequence, stored: msg.Time}
			if msg.Sequence < w.end && json.Unmarshal(msg.Data, &s.AuditEntry) == nil {
				list = append(list, s)
			}
		}
		if w.end = start; len(list) < window/2 {
			w.span *= 2
		}
	}
	return list, nil
}

// read returns the messages from the sequence on, at most window. A replica may lack the newest ones for a moment.
func (w *windows) read(ctx context.Context, start uint64) (batch []*jetstream.RawStreamMsg, err error) {
	newest, subject := w.end > w.last, w.subject
	if newest {
		subject = subjects + ">" // includes the last one
	}
	waiting, cancel := context.WithTimeout(ctx, replicaTimeout)
	defer cancel()
	for {
		batch, err = bucket.Collect(jetstreamext.GetBatch(ctx, w.js, Stream, window,
			jetstreamext.GetBatchSeq(start), jetstreamext.GetBatchSubject(subject)))
		if err := errors.Join(err, ctx.Err()); err != nil { // Collect returns no error when ctx ends
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		complete := !newest || len(batch) > 0 && batch[len(batch)-1].Sequence >= w.last
		if complete || retry.Sleep(waiting, replicaInterval) != nil {
			return batch, nil
		}
	}
}

// cursor returns the cursor of the entries before the sequence.
func cursor(sequence uint64) *string { return schemas.Cursor{}.Next(strconv.FormatUint(sequence, 10)) }

func parseCursor(text string) (sequence uint64, err error) {
	c, err := schemas.ParseCursor(text)
	if err == nil {
		sequence, err = strconv.ParseUint(c.After, 10, 64)
	}
	if err != nil || sequence == 0 || c.Global {
		return 0, schemas.ErrCursor
	}
	return sequence, nil
}
