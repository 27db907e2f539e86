package keys

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
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
	"cairn/schemas"
)

const (
	// pollInterval is the polling interval, and so the delay of a revocation. Polling does not
	// depend on a consumer that could be lost with a server.
	pollInterval = 400 * time.Millisecond
	// minReadInterval is the minimum interval between reads, so that unknown keys cause few.
	minReadInterval = 25 * time.Millisecond
	// readTimeout is the timeout of one read of the bucket.
	readTimeout = 3 * time.Second
)

// ErrUnknown is the error for a key that is unknown, revoked or expired.
var ErrUnknown = errors.New("the API key is not valid")

// Ring is a cached copy of all keys, with which an edge authenticates callers. It may be
// used concurrently.
type Ring struct {
	conn       *bus.Conn
	log        *slog.Logger
	refreshing singleflight.Group
	readAt     time.Time // start of the last read; guarded by refreshing

	mu     sync.RWMutex
	bucket string // ID of the bucket
	next   uint64 // first sequence that was not read
	keys   map[string]*known
	read   bool // whether all keys were read at least once
}

// NewRing returns an empty ring. Run fills it.
func NewRing(conn *bus.Conn, log *slog.Logger) *Ring {
	return &Ring{conn: conn.Reader(), log: log, next: 1, keys: map[string]*known{}}
}

// Run polls the bucket until ctx ends. While NATS is unavailable, the ring keeps its
// keys.
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
		time.Sleep(time.Until(r.readAt.Add(minReadInterval)))
		r.readAt = time.Now()
		return nil, r.refresh(ctx)
	})
	return err
}

func (r *Ring) refresh(ctx context.Context) error {
	if !r.conn.Connected() {
		return schemas.ErrUnavailable.Because("NATS is unavailable")
	}
	s, err := r.conn.JetStream().Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		r.apply("", 1, nil, true) // no key was ever created
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the bucket of keys: %w", err)
	}
	info := s.CachedInfo()
	id := bucket.ID(info)
	next := r.from(id)
	changed := map[string]*Key{}
	for next <= info.State.LastSeq {
		msg, err := s.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subjects+">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			if len(changed) > 0 {
				r.apply(id, next, changed, false) // the next read resumes there
			}
			return fmt.Errorf("read keys: %w", err)
		}
		changed[strings.TrimPrefix(msg.Subject, subjects)] = decode(msg, r.log)
		next = msg.Sequence + 1
	}
	r.apply(id, max(next, info.State.LastSeq+1), changed, true)
	return nil
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

// from returns the sequence at which to resume reading the bucket with the ID.
func (r *Ring) from(id string) uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if id != r.bucket {
		return 1
	}
	return r.next
}

// apply applies the changes up to next. If full is true, changed contains every key.
func (r *Ring) apply(id string, next uint64, changed map[string]*Key, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id != r.bucket {
		clear(r.keys)
		r.read = false
	}
	for name, k := range changed {
		if k == nil {
			delete(r.keys, name)
			continue
		}
		r.keys[name] = newKnown(k)
	}
	r.bucket, r.next, r.read = id, next, r.read || full
}

// Identify returns the identity of the key, an error that wraps ErrUnknown for an invalid
// one, or schemas.ErrUnavailable if no keys could be read yet.
func (r *Ring) Identify(ctx context.Context, text string) (*schemas.Identity, error) {
	id, secret, ok := split(text)
	if !ok {
		return nil, fmt.Errorf("%w: expected cairn_ID_SECRET", ErrUnknown)
	}
	k, found, _ := r.find(id)
	for reads := 0; reads < 2 && !found; reads++ { // the key may be new, and a shared read may have started before its creation
		var read bool
		err := r.Refresh(ctx)
		if k, found, read = r.find(id); err != nil && !found && !read {
			return nil, schemas.ErrUnavailable.Because("the API keys cannot be read")
		}
	}
	if !found || !k.matches(secret) {
		return nil, fmt.Errorf("%w: unknown id or secret", ErrUnknown)
	}
	if state := k.State(time.Now()); state != StateActive {
		return nil, fmt.Errorf("%w: it is %s", ErrUnknown, state)
	}
	return k.by, nil
}

// known is a key, decoded for authentication.
type known struct {
	*Key
	by  *schemas.Identity
	sum []byte // SHA-256 of the secret
}

func newKnown(k *Key) *known {
	sum, _ := hex.DecodeString(k.Hash) // decode has validated it
	return &known{k, k.Identity(), sum}
}

// matches reports in constant time whether secret is the secret of k.
func (k *known) matches(secret string) bool {
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], k.sum) == 1
}

func (r *Ring) find(id string) (k *known, found, read bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	k, found = r.keys[id]
	return k, found, r.read
}
