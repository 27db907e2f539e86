package projection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Bucket is the name of the KV bucket of quarantined records.
const Bucket = bucket.Quarantine

// quarantine holds the records that the index rejected permanently, by catalog key,
// shared by all workers.
type quarantine struct {
	kv      jetstream.KeyValue
	watcher jetstream.KeyWatcher
	watched sync.WaitGroup
	end     chan struct{}

	mu      sync.Mutex
	records map[string]schemas.QuarantinedRecord
}

// Setup creates the bucket of quarantined records, or upgrades one that exists.
func Setup(ctx context.Context, js jetstream.JetStream, replication bucket.Replication) error {
	_, err := bucket.Setup(ctx, js, Bucket, replication, func(c *jetstream.StreamConfig) {
		c.Description = "records that the index rejects"
		c.AllowDirect = true // workers watch it and write with compare-and-set
		c.AllowMsgTTL = true // of delete markers of earlier releases; cannot be disabled
	})
	return err
}

func openQuarantine(ctx context.Context, js jetstream.JetStream) (*quarantine, error) {
	kv, err := bucket.OpenKV(ctx, js, Bucket)
	if err != nil {
		return nil, err
	}
	q := &quarantine{kv: kv, end: make(chan struct{}), records: map[string]schemas.QuarantinedRecord{}}
	// The watch outlives ctx; close ends it.
	err = bucket.WaitReady(ctx, js, "watch bucket "+Bucket, func() error {
		q.watcher, err = kv.WatchAll(context.WithoutCancel(ctx))
		return err
	})
	if err != nil {
		return nil, err
	}
	telemetry.RecordsQuarantined.WithLabelValues("index").Set(0)
	loaded := make(chan struct{})
	q.watched.Go(func() { q.watch(sync.OnceFunc(func() { close(loaded) })) })
	select {
	case <-loaded:
		return q, nil
	case <-ctx.Done():
		q.close()
		return nil, fmt.Errorf("read bucket %s: %w", Bucket, ctx.Err())
	}
}

func (q *quarantine) close() {
	close(q.end)
	_ = q.watcher.Stop() // fails only on a closed connection
	q.watched.Wait()
}

// watch follows the bucket. It calls loaded after the initial entries, or at its end.
func (q *quarantine) watch(loaded func()) {
	defer loaded()
	for {
		select {
		case entry, ok := <-q.watcher.Updates():
			switch {
			case !ok:
				return
			case entry == nil:
				loaded()
			default:
				q.apply(entry)
			}
		case <-q.end:
			return
		}
	}
}

func (q *quarantine) apply(entry jetstream.KeyValueEntry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var record schemas.QuarantinedRecord
	if entry.Operation() != jetstream.KeyValuePut || json.Unmarshal(entry.Value(), &record) != nil {
		delete(q.records, entry.Key())
	} else {
		q.records[entry.Key()] = record
	}
	q.count()
}

// count updates the metric. The caller holds mu.
func (q *quarantine) count() {
	telemetry.RecordsQuarantined.WithLabelValues("index").Set(float64(len(q.records)))
}

// put quarantines the record, unless a newer revision of it is quarantined.
func (q *quarantine) put(ctx context.Context, record schemas.QuarantinedRecord) error {
	value, err := json.Marshal(record)
	if err != nil {
		return err
	}
	for {
		entry, err := q.kv.Get(ctx, record.Key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			_, err = q.kv.Create(ctx, record.Key, value)
		case err != nil:
			return err
		default:
			q.apply(entry)
			if q.quarantinedRevision(record.Key) > record.Revision {
				return nil
			}
			_, err = q.kv.Update(ctx, record.Key, value, entry.Revision())
		}
		if bucket.Outdated(err) {
			continue // concurrent update by another worker
		}
		if err == nil {
			q.add(record)
		}
		return err
	}
}

// quarantinedRevision returns the quarantined revision of the key; 0: none.
func (q *quarantine) quarantinedRevision(key string) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.records[key].Revision
}

func (q *quarantine) add(record schemas.QuarantinedRecord) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.records[record.Key] = record
	q.count()
}

// release releases the key if the quarantined revision is not newer.
func (q *quarantine) release(ctx context.Context, key string, revision uint64) error {
	for {
		if held := q.quarantinedRevision(key); held == 0 || held > revision {
			return nil
		}
		entry, err := q.kv.Get(ctx, key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			q.remove(key, revision)
			return nil
		case err != nil:
			return err
		}
		if q.apply(entry); q.quarantinedRevision(key) > revision {
			return nil
		}
		err = q.kv.Purge(ctx, key, jetstream.LastRevision(entry.Revision()))
		if bucket.Outdated(err) {
			continue // concurrent update by another worker
		}
		if err == nil {
			q.remove(key, revision)
		}
		return err
	}
}

// remove removes the key unless a newer revision is quarantined.
func (q *quarantine) remove(key string, revision uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.records[key].Revision <= revision {
		delete(q.records, key)
		q.count()
	}
}

// list returns the number of records, and the oldest of them up to the limit.
func (q *quarantine) list(limit int) (int, []schemas.QuarantinedRecord) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := slices.SortedFunc(maps.Values(q.records), func(a, b schemas.QuarantinedRecord) int {
		return cmp.Compare(a.Revision, b.Revision)
	})
	return len(all), all[:min(limit, len(all))]
}
