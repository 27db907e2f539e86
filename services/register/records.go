package register

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/scope"
)

// putRecord registers the record as the endpoint of its kind does.
func (r registry) putRecord(ctx context.Context, req schemas.PutRecord) (schemas.RecordStored, error) {
	warnings, err := r.warnings(ctx, []schemas.PutRecord{req})
	if err != nil {
		return schemas.RecordStored{}, err
	}
	if err := strict(req, warnings[0]); err != nil {
		return schemas.RecordStored{}, err
	}
	e, err := putEntry(req)
	if err != nil {
		return schemas.RecordStored{}, err
	}
	registered, err := r.put(ctx, e)
	return schemas.RecordStored{Kind: req.Kind, ID: req.ID, Warnings: warnings[0], Registered: registered}, err
}

// putEntry returns the entry of a valid request.
func putEntry(req schemas.PutRecord) (entry, error) {
	body, err := req.Registration()
	if err != nil {
		return entry{}, err
	}
	registration, err := schemas.DecodeRegistration(req.Kind, body)
	if err != nil {
		return entry{}, err
	}
	return entryOf(registration)
}

// strict returns the warnings as an error if the request is strict.
func strict(req schemas.PutRecord, warnings []schemas.FieldError) error {
	if req.Strict && len(warnings) > 0 {
		return schemas.ErrInvalidRegistration.With(warnings...)
	}
	return nil
}

const (
	// maxChecked is the maximum number of references checked per record.
	maxChecked = 100
	// maxLookups bounds the concurrent lookups of a request.
	maxLookups = 16
)

// warnings returns for each record those of its fields, and its references to records that
// are absent from the tenant's scope, from the global one, and from the list.
func (r registry) warnings(ctx context.Context, list []schemas.PutRecord) ([][]schemas.FieldError, error) {
	warnings, references := make([][]schemas.FieldError, len(list)), make([][]schemas.Reference, len(list))
	absent := map[catalog.Key]bool{}
	for i, req := range list {
		var err error
		if warnings[i], err = schemas.FieldWarnings(req.Kind, req.Record); err != nil {
			return nil, err
		}
		if references[i], err = schemas.References(req.Kind, req.Record); err != nil {
			return nil, err
		}
		references[i] = references[i][:min(len(references[i]), maxChecked)]
		for _, to := range references[i] {
			absent[keyOf(to.Kind, req.TenantID, to.ID)] = true
		}
	}
	if err := r.lookUp(ctx, absent, list); err != nil {
		return nil, fmt.Errorf("look up references: %w", err)
	}
	for i, req := range list {
		for _, to := range references[i] {
			if absent[keyOf(to.Kind, req.TenantID, to.ID)] {
				message := fmt.Sprintf("no %s %q is registered; register it, or correct the reference", to.Kind, to.ID)
				warnings[i] = append(warnings[i], schemas.FieldError{Field: to.Field, Message: message})
			}
		}
		warnings[i] = schemas.ErrInvalidRegistration.With(warnings[i]...).Fields // as many, and as long, as field errors
	}
	return warnings, nil
}

// lookUp sets the keys to false that are in the list or the catalog, in the scope of their
// tenant or the global one.
func (r registry) lookUp(ctx context.Context, absent map[catalog.Key]bool, list []schemas.PutRecord) error {
	listed := map[catalog.Key]bool{}
	for _, req := range list {
		listed[keyOf(req.Kind, req.TenantID, req.ID)] = true
	}
	keys := slices.Collect(maps.Keys(absent))
	missing := make([]bool, len(keys))
	err := bucket.Bounded(ctx, "catalog", func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(maxLookups)
		for i, key := range keys {
			group.Go(func() (err error) {
				missing[i], err = r.missing(ctx, key, listed)
				return err
			})
		}
		return group.Wait()
	})
	for i, key := range keys {
		absent[key] = missing[i]
	}
	return err
}

// missing reports whether neither the tenant of the key nor the global scope has a record
// with its id, in the catalog or among the listed ones.
func (r registry) missing(ctx context.Context, key catalog.Key, listed map[catalog.Key]bool) (bool, error) {
	for _, tenant := range scope.Scope(key.Tenant).Tenants() {
		key.Tenant = tenant
		if listed[key] {
			return false, nil
		}
		switch _, err := r.catalog.Get(ctx, key); {
		case err == nil:
			return false, nil
		case !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, catalog.ErrBadKey):
			return false, err
		}
	}
	return true, nil
}
