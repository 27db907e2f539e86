package keys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// pollInterval is the polling interval. With the duration of a read it bounds the delay of a
	// revocation. Polling does not depend on a consumer that could be lost with a server.
	pollInterval    = 400 * time.Millisecond
	minReadInterval = 25 * time.Millisecond // bounds the reads for unknown keys
	readTimeout     = 3 * time.Second       // of one read of the bucket
	// rollbackTimeout is the time after which a bucket whose last sequence is below the last one read
	// counts as rolled back. A leader without a quorum may lack changes until it steps down after
	// 10 s.
	rollbackTimeout = 12 * time.Second
)

// ErrUnknown is the error for an unknown, revoked or expired key.
var ErrUnknown = errors.New("the API key is not valid")

// Ring is a cached copy of all keys, with which an edge authenticates callers. It may be
// used concurrently.
type Ring struct {
	conn       *bus.Conn
	log        *slog.Logger
	refreshing singleflight.Group

	// Guarded by refreshing.
	readAt      time.Time // start of the last read
	bucket      string    // ID of the bucket
	next        uint64    // sequence after the last one read
	stored      time.Time // time of the last change read
	behindSince time.Time // since when the bucket's last sequence is below the last one read; zero: it is not

	mu   sync.RWMutex
	keys map[string]*Key
	read bool // all keys of the bucket were read
}

// NewRing returns an empty ring. Run fills it.
func NewRing(conn *bus.Conn, log *slog.Logger) *Ring {
	return &Ring{conn: conn.ReadConn(), log: log, next: 1, keys: map[string]*Key{}}
}

// Run polls the bucket until ctx ends. While NATS is unavailable, the ring keeps its keys.
func (r *Ring) Run(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	ok := true
	for {
		err := r.Refresh(ctx)
		if err != nil && ok && ctx.Err() == nil {
			r.log.Warn("API keys cannot be read; using the cached ones", "err", err)
		}
		ok = err == nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Refresh reads the changes of the bucket. Concurrent calls share one read.
func (r *Ring) Refresh(ctx context.Context) error {
	_, err, _ := r.refreshing.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout) // concurrent callers share the result
		defer cancel()
		if err := retry.Sleep(ctx, time.Until(r.readAt.Add(minReadInterval))); err != nil {
			return nil, err
		}
		r.readAt = time.Now()
		return nil, r.refresh(ctx)
	})
	return err
}

// refresh reads the changes since the last read, or all keys if the bucket was replaced or rolled
// back.
func (r *Ring) refresh(ctx context.Context) error {
	if !r.conn.Connected() {
		return schemas.ErrUnavailable.Because("NATS is unavailable")
	}
	s, err := r.conn.JetStream().Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		r.reset("") // the bucket was not created yet
		r.apply(nil, true)
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the bucket of keys: %w", err)
	}
	info := s.CachedInfo()
	if id := bucket.ID(info); id != r.bucket {
		r.reset(id)
	} else if r.rolledBack(ctx, s) {
		r.log.Error("the bucket of API keys was rolled back: reading all keys", "last_read", r.next-1, "last",
			info.State.LastSeq)
		r.reset(id)
	}
	changed := map[string]*Key{}
	for r.next <= info.State.LastSeq {
		msg, err := s.GetMsg(ctx, r.next, jetstream.WithGetMsgSubject(subjects+">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) { // the last ones were removed
			r.next, r.stored = info.State.LastSeq+1, info.State.LastTime
			break
		}
		if err != nil {
			r.apply(changed, false) // the next read continues at r.next
			return fmt.Errorf("read keys: %w", err)
		}
		changed[strings.TrimPrefix(msg.Subject, subjects)] = decode(msg, r.log)
		r.next, r.stored = msg.Sequence+1, msg.Time
	}
	r.apply(changed, true)
	return nil
}

// reset removes all keys, so that the next read starts at the beginning of the bucket with the ID.
// Identify waits for that read.
func (r *Ring) reset(id string) {
	r.bucket, r.next, r.stored, r.behindSince = id, 1, time.Time{}, time.Time{}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.keys)
	r.read = false
}

// rolledBack reports whether the data of the bucket were replaced by an older copy: the
// change at the last read sequence has another time, or is missing for rollbackTimeout.
func (r *Ring) rolledBack(ctx context.Context, s jetstream.Stream) bool {
	now, read := s.CachedInfo().State, r.next-1
	if now.LastSeq < read {
		if r.behindSince.IsZero() {
			r.behindSince = time.Now()
		}
		return time.Since(r.behindSince) > rollbackTimeout
	}
	r.behindSince = time.Time{}
	if now.LastSeq == read {
		return !now.LastTime.Equal(r.stored)
	}
	if read == 0 {
		return false
	}
	msg, err := s.GetMsg(ctx, read)
	return err == nil && !msg.Time.Equal(r.stored) // not found: a newer change has replaced it
}

// decode returns the key record in msg, or nil when the key was removed or the
// record is invalid. An invalid record is logged and authenticates no caller.
func decode(msg *jetstream.RawStreamMsg, log *slog.Logger) *Key {
	if bucket.Removes(msg.Header) {
		return nil
	}
	k := &Key{}
	err := json.Unmarshal(msg.Data, k)
	if err == nil {
		err = k.validate(strings.TrimPrefix(msg.Subject, subjects))
	}
	if err != nil {
		log.Error("invalid key record ignored", "subject", msg.Subject, "err", err)
		return nil
	}
	return k
}

// apply applies changes. full reports that the ring then has all keys of the bucket.
func (r *Ring) apply(changed map[string]*Key, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, k := range changed {
		if k == nil {
			delete(r.keys, name)
			continue
		}
		r.keys[name] = k
	}
	r.read = r.read || full
}

// Identify returns the identity of the key, an error that wraps ErrUnknown for an invalid
// one, or schemas.ErrUnavailable if no keys could be read yet.
func (r *Ring) Identify(ctx context.Context, text string) (*schemas.Identity, error) {
	id, secret, ok := split(text)
	if !ok {
		return nil, fmt.Errorf("%w: expected cairn_ID_SECRET", ErrUnknown)
	}
	k, exists, _ := r.find(id)
	// A missing key may be new. The second read is needed if the first one was shared and started
	// before the key was created.
	for reads := 0; reads < 2 && !exists; reads++ {
		var read bool
		err := r.Refresh(ctx)
		if k, exists, read = r.find(id); err != nil && !exists && !read {
			return nil, schemas.ErrUnavailable.Because("the API keys cannot be read")
		}
	}
	if !exists || !k.matches(secret) {
		return nil, fmt.Errorf("%w: unknown id or secret", ErrUnknown)
	}
	if state := k.State(time.Now()); state != StateActive {
		return nil, fmt.Errorf("%w: it is %s", ErrUnknown, state)
	}
	return k.Identity(), nil
}

func (r *Ring) find(id string) (k *Key, exists, read bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	k, exists = r.keys[id]
	return k, exists, r.read
}
