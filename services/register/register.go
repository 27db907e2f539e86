// Package register takes records into the catalog, and out of it. A
// registration is answered when its record is durable and search sees it.
package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/projection"
)

// patience is how long a registration waits for search to see its record. It
// usually takes milliseconds, of many at once a second or two; a caller who is
// told "later" loses nothing.
const patience = 5 * time.Second

// Visible returns nil once search sees the catalog's revision, or an error
// when that cannot be told before ctx ends.
type Visible func(ctx context.Context, revision uint64) error

// Confirmed is Visible by the word of a resolve worker that keeps the index
// itself: it answers for its health when it has read as far. Others that run
// beside it are asked to catch up when they are read.
func Confirmed(conn *bus.Conn) Visible {
	return func(ctx context.Context, revision uint64) error {
		_, err := bus.Health("resolve").Call(bus.WithMinRevision(ctx, revision), conn, schemas.Nothing{})
		return err
	}
}

// Deps are what registration works with.
type Deps struct {
	Catalog *catalog.Catalog
	Visible Visible
	// Usage limits what each tenant stores; nil: nothing is limited. Closed by the
	// caller, after the service.
	Usage *Usage
	// Pressure describes the buckets that are nearly full, for the health; nil:
	// they are not watched.
	Pressure func(context.Context) ([]string, error)
	// Projector writes to the index that all workers share; nil when resolve
	// workers keep their own. Closed by the caller, after the service.
	Projector *projection.Projector
}

// Serve answers the registration endpoints, and the service's health, on s.
// Where a record is not confirmed to be visible in time, the answer says that
// it is not indexed yet.
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

// put stores the record and waits for search to see it.
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

// registered says how far a change that is durable has come.
func (r registry) registered(ctx context.Context, revision uint64) schemas.Registered {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	registered := schemas.Registered{Revision: revision}
	if err := r.visible(ctx, revision); err != nil {
		registered.Indexed = new(bool)
	}
	return registered
}

// refused is err in the words of the contract when it is about the key: an id
// may pass as text, and yet have more bytes than a key can hold.
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
