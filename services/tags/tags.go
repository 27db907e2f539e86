// Package tags stores the tags of requests in flight. A tag is written once, is
// immutable, and expires after its time to live.
package tags

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
)

// DefaultTTL is the default time to live of tags.
const DefaultTTL = 30 * time.Minute

// Serve answers the tag endpoints and the service's health on s from store. ttl is
// the default and maximum time to live; it must be a whole number of seconds.
func Serve(s *bus.Service, store *Store, ttl time.Duration) error {
	if ttl < time.Second || ttl%time.Second != 0 {
		return fmt.Errorf("time to live of tags: expected whole seconds, at least 1, got %v", ttl)
	}
	t := tags{store, ttl}
	return errors.Join(
		bus.WriteTag.Serve(s, t.write),
		bus.ReadTag.Serve(s, t.read),
		bus.DeleteTag.Serve(s, t.delete),
		bus.ListTags.Serve(s, store.list),
		bus.ServeHealth(s, "tags", t.health, nil),
		bus.TagQuota.Serve(s, t.quota),
	)
}

type tags struct {
	store *Store
	ttl   time.Duration
}

func (t tags) write(ctx context.Context, w schemas.TagWrite) (schemas.TagWritten, error) {
	written := schemas.TagWritten{RequestID: w.RequestID, Flow: w.Flow}
	ttl, err := t.lifetime(w.TTLSeconds)
	if err != nil {
		return written, err
	}
	return written, bucket.WithReplyMargin(ctx, "tag store", func(ctx context.Context) error {
		return t.store.create(ctx, keyOf(w.TenantID, w.RequestID), w.Tag, ttl)
	})
}

// lifetime returns the time to live of a write. It rejects a value above the
// maximum instead of truncating it, so that callers do not rely on expired tags.
func (t tags) lifetime(seconds *int) (time.Duration, error) {
	maximum := int(t.ttl / time.Second)
	switch {
	case seconds == nil:
		return t.ttl, nil
	case *seconds > maximum:
		return 0, schemas.ErrMalformed.With(schemas.FieldError{
			Field:   "ttl_seconds",
			Message: fmt.Sprintf("expected an integer from 1 to %d, got %d", maximum, *seconds),
		})
	default:
		return time.Duration(*seconds) * time.Second, nil
	}
}

func (t tags) read(ctx context.Context, key schemas.TagKey) (schemas.TagFound, error) {
	var answer schemas.TagFound
	err := bucket.WithReplyMargin(ctx, "tag store", func(ctx context.Context) (err error) {
		answer.Tags, err = t.store.read(ctx, keyOf(key.TenantID, key.RequestID))
		return err
	})
	return answer, err
}

// delete removes the tag. The contract does not define the deletion of an absent
// tag; here it succeeds.
func (t tags) delete(ctx context.Context, key schemas.TagKey) (schemas.Nothing, error) {
	return schemas.Nothing{}, bucket.WithReplyMargin(ctx, "tag store", func(ctx context.Context) error {
		return t.store.delete(ctx, keyOf(key.TenantID, key.RequestID))
	})
}

func (t tags) quota(_ context.Context, q schemas.QuotaQuery) (schemas.Quota, error) {
	return t.store.counter.Quota(schemas.TenantOf(&q)), nil
}

func (t tags) health(ctx context.Context) (schemas.Health, error) {
	h := schemas.Health{Service: "tags", Status: schemas.StatusOK, Version: bus.Version}
	full, err := t.store.storageWarnings(ctx)
	switch {
	case err != nil:
		h.Status = schemas.StatusDown
		h.Degraded = append(full, "tag store unavailable: "+err.Error())
	case len(full) > 0:
		h.Status, h.Degraded = schemas.StatusDegraded, full
	}
	return h, nil
}
