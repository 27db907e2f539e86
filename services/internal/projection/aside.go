package projection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Bucket is the name of the KV bucket of records that the index refuses.
const Bucket = bucket.Aside

// aside is what the index refuses, by catalog key, as all workers know it.
type aside struct {
	kv      jetstream.KeyValue
	watcher jetstream.KeyWatcher
	watched sync.WaitGroup
	end     chan struct{}

	mu    sync.Mutex
	known map[string]schemas.AsideRecord
}

func openAside(ctx context.Context, js jetstream.JetStream, copies bucket.Copies) (*aside, error) {
	kv, err := bucket.OpenKV(ctx, js, Bucket, copies, func(c *jetstream.StreamConfig) {
		c.Description = "records that the index refuses"
		c.AllowDirect = true // every worker watches it, and writes only over what is there
	})
	if err != nil {
		return nil, err
	}
	a := &aside{kv: kv, end: make(chan struct{}), known: map[string]schemas.AsideRecord{}}
	// The context of a watch would end it.
	if a.watcher, err = kv.WatchAll(context.WithoutCancel(ctx)); err != nil {
		return nil, fmt.Errorf("watch bucket %s: %w", Bucket, err)
	}
	telemetry.RecordsAside("index", 0)
	loaded := make(chan struct{})
	a.watched.Go(func() { a.watch(sync.OnceFunc(func() { close(loaded) })) })
	select {
	case <-loaded:
		return a, nil
	case <-ctx.Done():
		a.close()
		return nil, fmt.Errorf("read bucket %s: %w", Bucket, ctx.Err())
	}
}

func (a *aside) close() {
	close(a.end)
	_ = a.watcher.Stop() // of a connection that is closed, it has ended
	a.watched.Wait()
}

// watch calls loaded when all that was there has come, or nothing more comes.
func (a *aside) watch(loaded func()) {
	defer loaded()
	for {
		select {
		case entry, ok := <-a.watcher.Updates():
			switch {
			case !ok:
				return
			case entry == nil:
				loaded()
			default:
				a.learn(entry)
			}
		case <-a.end:
			return
		}
	}
}

func (a *aside) learn(entry jetstream.KeyValueEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var record schemas.AsideRecord
	if entry.Operation() != jetstream.KeyValuePut || json.Unmarshal(entry.Value(), &record) != nil {
		delete(a.known, entry.Key())
	} else {
		a.known[entry.Key()] = record
	}
	a.count()
}

// count tells how many there are. The caller holds mu.
func (a *aside) count() { telemetry.RecordsAside("index", len(a.known)) }

// put sets the record aside, unless a newer revision of it is.
func (a *aside) put(ctx context.Context, record schemas.AsideRecord) error {
	value, err := json.Marshal(record)
	if err != nil {
		return err
	}
	for {
		entry, err := a.kv.Get(ctx, record.Key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			_, err = a.kv.Create(ctx, record.Key, value)
		case err != nil:
			return err
		default:
			a.learn(entry)
			if a.has(record.Key) > record.Revision {
				return nil
			}
			_, err = a.kv.Update(ctx, record.Key, value, entry.Revision())
		}
		if bucket.Outdated(err) {
			continue // another worker was faster
		}
		if err == nil {
			a.note(record)
		}
		return err
	}
}

// has is the revision of the key that is aside; 0: none is.
func (a *aside) has(key string) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[key].Revision
}

func (a *aside) note(record schemas.AsideRecord) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[record.Key] = record
	a.count()
}

// forget takes back what was set aside of the key up to the revision.
func (a *aside) forget(ctx context.Context, key string, revision uint64) error {
	if aside := a.has(key); aside == 0 || aside > revision {
		return nil
	}
	if err := a.kv.Delete(ctx, key); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[key].Revision <= revision {
		delete(a.known, key)
		a.count()
	}
	return nil
}

// list is how many there are, and the first of them.
func (a *aside) list(most int) (int, []schemas.AsideRecord) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []schemas.AsideRecord
	for _, record := range a.known {
		all = append(all, record)
	}
	slices.SortFunc(all, func(a, b schemas.AsideRecord) int { return cmp.Compare(a.Revision, b.Revision) })
	return len(all), all[:min(most, len(all))]
}
