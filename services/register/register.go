// Package register writes records to the catalog and removes them. A registration
// is acknowledged when its record is durable and searchable.
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

// Confirmed returns a Visible that asks one resolve worker with an embedded index:
// its health check returns once the worker has applied the revision. Other workers
// catch up when a read requires it.
func Confirmed(conn *bus.Conn) Visible {
	return func(ctx context.Context, revision uint64) error {
		_, err := bus.Health("resolve").Call(bus.WithMinRevision(ctx, revision), conn, schemas.Nothing{})
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
	// Pressure describes the buckets that are nearly full, for the health; nil
	// disables the check.
	Pressure func(context.Context) ([]string, error)
	// Projector writes to the shared index; nil if resolve workers have embedded
	// indexes. The caller closes it after the service.
	Projector *projection.Projector
}

// Serve answers the registration endpoints and the service's health on s. The
// response reports indexed as false if visibility is not confirmed in time.
func Serve(s *bus.Service, d Deps) error {
	r := registry{d.Catalog, d.Visible, d.Usage, d.Pressure, d.Projector}
	return errors.Join(
		bus.RegisterSkill.Serve(s, r.skill),
		bus.RegisterAgent.Serve(s, r.agent),
		bus.RegisterTool.Serve(s, r.tool),
		bus.RegisterContextBuilder.Serve(s, r.contextBuilder),
		bus.RegisterGuardrail.Serve(s, r.guardrail),
		bus.RegisterTemplate.Serve(s, r.template),
		bus.Unregister.Serve(s, r.unregister),
		bus.Reindex.Serve(s, r.reindex),
		bus.ServeHealth(s, "register", r.health),
	)
}

type registry struct {
	catalog   *catalog.Catalog
	visible   Visible
	usage     *Usage
	pressure  func(context.Context) ([]string, error)
	projector *projection.Projector
}

// put stores the record and waits until it is searchable.
func (r registry) put(ctx context.Context, key catalog.Key, record []byte) (schemas.Registered, error) {
	var revision uint64
	err := bucket.Bounded(ctx, "catalog", func(ctx context.Context) (err error) {
		done, err := r.usage.reserve(ctx, key, record)
		if err != nil {
			return err
		}
		revision, err = r.catalog.Put(ctx, key, record)
		done(revision)
		return err
	})
	if err != nil {
		return schemas.Registered{}, refused(err, key)
	}
	return r.registered(ctx, revision), nil
}

func (r registry) unregister(ctx context.Context, u schemas.Unregister) (schemas.Unregistered, error) {
	key := keyOf(u.Kind, u.TenantID, u.ID)
	var revision uint64
	err := bucket.Bounded(ctx, "catalog", func(ctx context.Context) (err error) {
		revision, err = r.catalog.Delete(ctx, key)
		return err
	})
	if err != nil {
		return schemas.Unregistered{}, refused(err, key)
	}
	return schemas.Unregistered{Registered: r.registered(ctx, revision)}, nil
}

// registered waits until a durable change is searchable and returns the response.
func (r registry) registered(ctx context.Context, revision uint64) schemas.Registered {
	registered := schemas.Registered{Revision: revision}
	err := overload.IdleAfter(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, visibleTimeout)
		defer cancel()
		return r.visible(ctx, revision)
	})
	if err != nil {
		registered.Indexed = new(bool)
	}
	return registered
}

// refused returns ErrInvalidRegistration for an invalid key: an id within the
// limit of characters may exceed the limit of a key in bytes.
func refused(err error, key catalog.Key) error {
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
