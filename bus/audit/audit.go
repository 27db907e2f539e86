// Package audit stores who changed which record or key, and why: a JetStream stream with an entry for each change.
//
// An entry of a record has the ID of the record's revision, so that it is stored once although several workers may
// add it. The entry is durable before the change is acknowledged. The oldest entries are discarded.
package audit

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// Stream is the JetStream stream of the log.
	Stream = bucket.StreamPrefix + bucket.Audit
	// DefaultRetention is the time for which entries are retained.
	DefaultRetention = 90 * 24 * time.Hour

	subjects = bucket.SubjectPrefix + bucket.Audit + "." // records, or keys, which another NATS user adds
	// window is the number of entries of a read, and maxWindows the number of reads for a page.
	window, maxWindows = 1000, 50
	// replicaTimeout bounds the wait for a replica that lacks the newest entries.
	replicaTimeout  = 500 * time.Millisecond
	replicaInterval = 5 * time.Millisecond
)

// Setup creates or upgrades the stream, which retains entries for the time.
func Setup(ctx context.Context, js jetstream.JetStream, replication bucket.Replication, retention time.Duration) error {
	_, err := bucket.Setup(ctx, js, bucket.Audit, replication, func(c *jetstream.StreamConfig) {
		c.Description = "who changed which record or key, and why"
		c.MaxMsgsPerSubject = -1
		c.MaxAge = retention
		c.Discard = jetstream.DiscardOld
		c.AllowRollup = false // which removes messages
		c.AllowDirect = true
	})
	return err
}

// Add stores an entry with the current time, unless it has a time. It retries until the entry is acknowledged or ctx
// ends.
func Add(ctx context.Context, js jetstream.JetStream, e schemas.AuditEntry) error {
	msg := nats.NewMsg(subjects + "records")
	if e.Kind == schemas.KindKey {
		msg.Subject = subjects + "keys"
	}
	if e.Revision != "" {
		msg.Header.Set(jetstream.MsgIDHeader, e.Revision)
	}
	if e.Time == "" {
		e.Time = time.Now().UTC().Format(time.RFC3339Nano)
	}
	var err error
	if msg.Data, err = json.Marshal(e); err == nil {
		_, err = bucket.Publish(ctx, js, msg)
	}
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// Log reads the log. It may be used concurrently and needs no closing.
type Log struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

// Open opens the log. It waits for the stream until ctx ends.
func Open(ctx context.Context, js jetstream.JetStream) (*Log, error) {
	s, err := bucket.Bind(ctx, js, Stream)
	return &Log{js, s}, err
}

// Add is Add of the package.
func (l *Log) Add(ctx context.Context, e schemas.AuditEntry) error { return Add(ctx, l.js, e) }

// Page returns the entries that a valid query selects. It reads at most window * maxWindows entries, so that a page may
// be shorter than its limit.
func (l *Log) Page(ctx context.Context, q schemas.AuditQuery) (page schemas.AuditList, err error) {
	page.Entries = []schemas.AuditEntry{}
	w, err := l.open(ctx, q.Cursor)
	if err != nil {
		return page, err
	}
	since, until := parseTime(q.Since), parseTime(q.Until)
	limit := schemas.ValueOr(q.Limit, schemas.DefaultLimit)
	for range maxWindows {
		batch, err := w.next(ctx)
		if err != nil || len(batch) == 0 {
			return page, err
		}
		past := true // every entry of the batch is before since
		for _, s := range batch {
			date := parseTime(s.Time)
			past = past && date.Before(since)
			if !selects(q, s.AuditEntry) || date.Before(since) || !until.IsZero() && !date.Before(until) {
				continue
			}
			if len(page.Entries) == limit {
				page.NextCursor = cursor(s.sequence + 1)
				return page, nil
			}
			page.Entries = append(page.Entries, s.AuditEntry)
		}
		if past && !since.IsZero() {
			return page, nil
		}
	}
	if w.end > w.first {
		page.NextCursor = cursor(w.end)
	}
	return page, nil
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

// Recent returns the entries of about the latest n changes, the latest first.
func (l *Log) Recent(ctx context.Context, n int) (list []schemas.AuditEntry, err error) {
	w, err := l.open(ctx, "")
	if err != nil {
		return nil, err
	}
	for len(list) < n {
		batch, err := w.next(ctx)
		if err != nil || len(batch) == 0 {
			return list, err
		}
		for _, s := range batch {
			list = append(list, s.AuditEntry)
		}
	}
	return list, nil
}

// stored is an entry with its sequence in the stream.
type stored struct {
	schemas.AuditEntry
	sequence uint64
}

// windows reads the log backwards.
type windows struct {
	*Log
	first, end uint64 // the entries that were not read: sequences from first to before end
}

// open returns the windows before the cursor; empty: of the whole log.
func (l *Log) open(ctx context.Context, before string) (*windows, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	w := &windows{l, max(1, info.State.FirstSeq), info.State.LastSeq + 1}
	if before != "" {
		end, err := parseCursor(before)
		if err != nil {
			return nil, err
		}
		w.end = min(w.end, end)
	}
	return w, nil
}

// next returns the entries of the next window, the latest first; none at the end of the log. A replica may lack the
// newest messages for a moment; entries may have expired.
func (w *windows) next(ctx context.Context) (list []stored, err error) {
	waiting, cancel := context.WithTimeout(ctx, replicaTimeout)
	defer cancel()
	for w.end > w.first {
		start := w.first
		if w.end-w.first > window {
			start = w.end - window
		}
		batch, err := bucket.Collect(jetstreamext.GetBatch(ctx, w.js, Stream, int(w.end-start),
			jetstreamext.GetBatchSeq(start), jetstreamext.GetBatchSubject(subjects+">")))
		if err := errors.Join(err, ctx.Err()); err != nil { // Collect returns no error when ctx ends
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		complete := len(batch) > 0 && batch[len(batch)-1].Sequence+1 >= w.end
		if !complete && retry.Sleep(waiting, replicaInterval) == nil {
			continue
		}
		for _, msg := range slices.Backward(batch) {
			s := stored{sequence: msg.Sequence}
			if msg.Sequence < w.end && json.Unmarshal(msg.Data, &s.AuditEntry) == nil {
				list = append(list, s)
			}
		}
		if w.end = start; len(list) > 0 {
			return list, nil
		}
	}
	return nil, nil
}

// cursor returns the cursor of the entries before the sequence.
func cursor(sequence uint64) *string {
	return new(base64.RawURLEncoding.EncodeToString([]byte("a" + strconv.FormatUint(sequence, 10))))
}

func parseCursor(text string) (sequence uint64, err error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(decoded) > 0 && decoded[0] == 'a' {
		sequence, err = strconv.ParseUint(string(decoded[1:]), 10, 64)
	}
	if err != nil || sequence == 0 {
		return 0, schemas.ErrCursor
	}
	return sequence, nil
}
