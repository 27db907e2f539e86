// Package register writes records to the catalog and removes them. A registration
// is acknowledged when its record is durable and searchable, or after 5 s with indexed: false.
package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/overload"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/projection"
)

// visibleTimeout bounds the wait for the record to become searchable, which
// usually takes milliseconds, and up to two seconds under load. After it the
// response reports indexed as false.
const visibleTimeout = 5 * time.Second

// Visible waits until search includes the catalog revision. It returns an error if
// this is not confirmed before ctx ends.
type Visible func(ctx context.Context, revision uint64) error

// Confirmed returns a Visible that queries one resolve worker with an embedded index: its
// health check returns once the worker has applied the revision. Other workers catch up
// when a read requires it.
func Confirmed(conn *bus.Conn, c *catalog.Catalog) Visible {
	return func(ctx context.Context, revision uint64) error {
		ctx = bus.WithTokens(ctx, schemas.ConsistencyToken{Catalog: c.ID(), Revision: revision})
		_, err := bus.Health("resolve").Call(ctx, conn, schemas.Nothing{})
		return err
	}
}

// Deps are the dependencies of the service.
type Deps struct {
	Catalog *catalog.Catalog
	Visible Visible
	// Usage enforces the limits of each tenant; nil means unlimited. The caller
	// closes it after the service.
	Usage *Usage
	// StorageWarnings describes the buckets that are nearly full, for the health; nil
	// disables the check.
	StorageWarnings func(context.Context) ([]string, error)
	// Projector writes to the shared index; nil if resolve workers have embedded
	// indexes. The caller closes it after the service.
	Projector *projection.Projector
}

// Serve answers the registration endpoints and the service's health on s. The
// response reports indexed as false if visibility is not confirmed in time.
func Serve(s *bus.Service, d Deps) error {
	r := registry{d.Catalog, d.Visible, d.Usage, d.StorageWarnings, d.Projector}
	return errors.Join(
		bus.RegisterSkill.Serve(s, r.skill),
		bus.RegisterAgent.Serve(s, r.agent),
		bus.RegisterTool.Serve(s, r.tool),
		bus.RegisterContextBuilder.Serve(s, r.contextBuilder),
		bus.RegisterGuardrail.Serve(s, r.guardrail),
		bus.RegisterTemplate.Serve(s, r.template),
		bus.Unregister.Serve(s, r.delete),
		bus.PutRecord.Serve(s, r.putRecord),
		bus.PutRecords.Serve(s, r.putRecords),
		bus.DeleteRecord.Serve(s, r.delete),
		bus.RecordQuota.Serve(s, r.quota),
		bus.Reindex.Serve(s, r.reindex),
		bus.ServeHealth(s, "register", r.health, nil),
	)
}

type registry struct {
	catalog         *catalog.Catalog
	visible         Visible
	usage           *Usage
	storageWarnings func(context.Context) ([]string, error)
	projector       *projection.Projector
}

// quota returns the usage and limits of a tenant. It may lag behind registrations by other workers.
func (r registry) quota(_ context.Context, q schemas.QuotaQuery) (schemas.Quota, error) {
	return r.usage.quota(schemas.TenantOf(&q)), nil
}

// put stores the record and waits until it is searchable.
func (r registry) put(ctx context.Context, e entry) (schemas.Registered, error) {
	revision, err := r.durable(ctx, e)
	if err != nil {
		return schemas.Registered{}, err
	}
	return r.confirm(ctx, revision), nil
}

// durable stores the record and returns its revision.
func (r registry) durable(ctx context.Context, e entry) (revision uint64, err error) {
	err = bucket.Bounded(ctx, "catalog", func(ctx context.Context) (err error) {
		revision, err = r.store(ctx, e)
		return err
	})
	if err != nil {
		return 0, keyError(err, e.key)
	}
	return revision, nil
}

// store stores the record within the limits of its tenant.
func (r registry) store(ctx context.Context, e entry) (revision uint64, err error) {
	done, err := r.usage.reserve(ctx, e.key, e.record)
	if err != nil {
		return 0, err
	}
	revision, err = r.write(ctx, e.key, e.record)
	done(revision)
	return revision, err
}

// write stores the record if the precondition of the request permits it. A write without
// one needs no read, and is committed with others.
func (r registry) write(ctx context.Context, key catalog.Key, record []byte) (uint64, error) {
	p := bus.Precondition(ctx)
	if p == (schemas.Precondition{}) {
		if r.usage.has(key) {
			return r.catalog.Replace(ctx, key, record)
		}
		return r.catalog.Put(ctx, key, record)
	}
	return r.catalog.PutIf(ctx, key, record, r.permits(p))
}

// permits returns the condition of the catalog for the precondition.
func (r registry) permits(p schemas.Precondition) catalog.Condition {
	return func(revision uint64) error {
		return p.Check(schemas.ConsistencyToken{Catalog: r.catalog.ID(), Revision: revision})
	}
}

func (r registry) delete(ctx context.Context, u schemas.Unregister) (schemas.Unregistered, error) {
	key := keyOf(u.Kind, u.TenantID, u.ID)
	var revision uint64
	err := bucket.Bounded(ctx, "catalog", func(ctx context.Context) (err error) {
		revision, err = r.catalog.DeleteIf(ctx, key, r.permits(bus.Precondition(ctx)))
		return err
	})
	if err != nil {
		return schemas.Unregistered{}, keyError(err, key)
	}
	return schemas.Unregistered{Registered: r.confirm(ctx, revision)}, nil
}

// confirm waits until a durable change is searchable and returns the response.
func (r registry) confirm(ctx context.Context, revision uint64) schemas.Registered {
	registered := schemas.Registered{Catalog: r.catalog.ID(), Revision: revision}
	err := overload.IdleAfter(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, visibleTimeout)
		defer cancel()
		return bucket.Bounded(ctx, "catalog", func(ctx context.Context) error { return r.visible(ctx, revision) })
	})
	if err != nil {
		registered.Indexed = new(bool)
	}
	return registered
}

// keyError returns ErrInvalidRegistration for an invalid key: an id within the
// limit of characters may exceed the limit of a key in bytes.
func keyError(err error, key catalog.Key) error {
	if errors.Is(err, catalog.ErrBadKey) {
		return schemas.ErrInvalidRegistration.With(schemas.FieldError{
			Field: key.Kind + "_id", Message: err.Error(),
		})
	}
	return fmt.Errorf("register %s %q: %w", key.Kind, key.ID, err)
}

func keyOf(kind string, tenant *string, id string) catalog.Key {
	key := catalog.Key{Kind: kind, ID: id}
	if tenant != nil {
		key.Tenant = *tenant
	}
	return key
}
