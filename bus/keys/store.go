package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	stream   = bucket.StreamPrefix + bucket.Keys
	subjects = bucket.SubjectPrefix + bucket.Keys + "."
)

var (
	// ErrNotFound is the error for an id without a key.
	ErrNotFound = errors.New("no such key")
	// ErrNotAudited is the error of a change that was made.
	ErrNotAudited = errors.New("but the audit log has no entry of it")
)

// Store creates and revokes keys. It may be used concurrently and needs no closing.
type Store struct {
	kv   jetstream.KeyValue
	conn *bus.Conn
}

// Setup creates the bucket, or upgrades one that exists.
func Setup(ctx context.Context, conn *bus.Conn, replication bucket.Replication) error {
	_, err := bucket.Setup(ctx, conn.JetStream(), bucket.Keys, replication, func(c *jetstream.StreamConfig) {
		c.Description = "API keys, hashed, by their ids"
	})
	return err
}

// Open opens the bucket, and waits for it until ctx ends.
func Open(ctx context.Context, conn *bus.Conn) (*Store, error) {
	kv, err := bucket.OpenKV(ctx, conn.JetStream(), bucket.Keys)
	if err != nil {
		return nil, err
	}
	return &Store{kv, conn}, nil
}

// audit adds a change of the key to the audit log: an entry for each tenant, or one without.
func (s *Store) audit(ctx context.Context, action string, k Key) error {
	e := schemas.AuditEntry{Action: action, Kind: schemas.KindKey, ID: k.ID, Origin: bus.OriginOf(ctx, s.conn)}
	tenants := k.Tenants
	if len(tenants) == 0 {
		tenants = []string{""}
	}
	for _, e.TenantID = range tenants {
		if err := audit.Add(ctx, s.conn.JetStream(), e); err != nil {
			return err
		}
	}
	return nil
}

// Create stores k under a new id and returns the text of the key, which cannot be retrieved again. The audit log has
// the origin of ctx before, so that there is no key without an entry.
func (s *Store) Create(ctx context.Context, k Key) (Key, string, error) {
	k.Created = time.Now().UTC().Truncate(time.Second)
	secret := k.generate()
	value, err := json.Marshal(k)
	if err == nil {
		err = s.audit(ctx, schemas.ActionCreateKey, k)
	}
	if err == nil {
		_, err = s.kv.Create(ctx, k.ID, value)
	}
	if err != nil {
		return Key{}, "", fmt.Errorf("create a key: %w", err)
	}
	return k, secret, nil
}

// List returns all keys, oldest first, including revoked and expired ones.
func (s *Store) List(ctx context.Context) ([]Key, error) {
	lister, err := s.kv.ListKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	defer func() { _ = lister.Stop() }() // fails if it has ended
	var list []Key
	for id := range lister.Keys() {
		k, _, err := s.get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	if err := ctx.Err(); err != nil { // the lister ends without an error
		return nil, fmt.Errorf("list keys: %w", err)
	}
	slices.SortFunc(list, func(a, b Key) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

// Revoke revokes the key; edges refuse it within a second. It returns nil for a key that
// is already revoked. The audit log has the origin of ctx afterwards, so that a key can be revoked while the log is
// unavailable: then the error wraps ErrNotAudited.
func (s *Store) Revoke(ctx context.Context, id string) error {
	k, revision, err := s.get(ctx, id)
	if err != nil || !k.Revoked.IsZero() {
		return err
	}
	k.Revoked = time.Now().UTC().Truncate(time.Second)
	value, err := json.Marshal(k)
	if err == nil {
		_, err = s.kv.Update(ctx, id, value, revision)
	}
	if err != nil {
		return fmt.Errorf("revoke key %s: %w", id, err)
	}
	if err := s.audit(ctx, schemas.ActionRevokeKey, k); err != nil {
		return fmt.Errorf("key %s is revoked, %w: %w", id, ErrNotAudited, err)
	}
	return nil
}

func (s *Store) get(ctx context.Context, id string) (k Key, revision uint64, err error) {
	e, err := s.kv.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return k, 0, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &k)
	}
	if err != nil {
		return k, 0, fmt.Errorf("read key %s: %w", id, err)
	}
	return k, e.Revision(), nil
}
