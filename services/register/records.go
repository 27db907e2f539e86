package register

import (
	"cmp"
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
	e, err := putEntry(req)
	if err != nil {
		return schemas.RecordStored{}, err
	}
	registered, err := r.putOne(ctx, e)
	return schemas.RecordStored{Kind: req.Kind, ID: req.ID, Registered: registered}, err
}

// putOne stores the record if its warnings permit it.
func (r registry) putOne(ctx context.Context, e entry) (schemas.Registered, error) {
	warnings, err := r.warnings(ctx, []entry{e})
	if err != nil {
		return schemas.Registered{}, err
	}
	if err := e.permits(warnings[0]); err != nil {
		return schemas.Registered{}, err
	}
	registered, err := r.put(ctx, e)
	registered.Warnings = warnings[0]
	return registered, err
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
	e, err := entryOf(registration)
	e.strict, e.wrapper = req.Strict, "record"
	return e, err
}

// permits returns the warnings as an error if the request is strict.
func (e entry) permits(warnings []schemas.FieldError) error {
	if e.strict && len(warnings) > 0 {
		return schemas.ErrInvalidRegistration.With(warnings...)
	}
	return nil
}

const (
	// maxChecked is the maximum number of references checked per record.
	maxChecked = 100
	// maxLookups bounds the concurrent lookups of a request.
	maxLookups = 16
	// maxSuggested is the maximum number of absent references of a request for which the ids
	// of the catalog are searched.
	maxSuggested = 4
)

// warnings returns for each record its probable mistakes: see schemas.Warnings, and references
// to records that are absent from the tenant's scope, from the global one, and from those of
// the list that are not rejected because of their own warnings.
func (r registry) warnings(ctx context.Context, list []entry) ([][]schemas.FieldError, error) {
	warnings, references := make([][]schemas.FieldError, len(list)), make([][]schemas.Reference, len(list))
	absent, listed := map[catalog.Key]bool{}, map[catalog.Key]bool{}
	for i, e := range list {
		var err error
		if warnings[i], err = schemas.Warnings(e.key.Kind, e.received); err != nil {
			return nil, err
		}
		if references[i], err = schemas.References(e.key.Kind, e.record); err != nil {
			return nil, err
		}
		references[i] = references[i][:min(len(references[i]), maxChecked)]
		for _, to := range references[i] {
			absent[e.keyOf(to)] = true
		}
		listed[e.key] = !e.strict || len(warnings[i]) == 0
	}
	if err := r.lookUp(ctx, absent, list); err != nil {
		return nil, fmt.Errorf("look up references: %w", err)
	}
	dangling := func(e entry, to schemas.Reference) bool {
		return absent[e.keyOf(to)] && !slices.ContainsFunc(scope.Scope(e.key.Tenant).Tenants(), func(tenant string) bool {
			return listed[catalog.Key{Kind: to.Kind, Tenant: tenant, ID: to.ID}]
		})
	}
	for rejected := true; rejected; {
		rejected = false
		for i, e := range list {
			if e.strict && listed[e.key] && slices.ContainsFunc(references[i], func(to schemas.Reference) bool { return dangling(e, to) }) {
				listed[e.key], rejected = false, true
			}
		}
	}
	suggested := r.suggestions(ctx, absent, list)
	for i, e := range list {
		for _, to := range references[i] {
			if dangling(e, to) {
				message := fmt.Sprintf("no %s %q is registered; %s", to.Kind, to.ID, advice(suggested[e.keyOf(to)]))
				warnings[i] = append(warnings[i], schemas.FieldError{Field: to.Field, Message: message})
			}
		}
		for n := range warnings[i] {
			warnings[i][n].Field = e.path(warnings[i][n].Field)
		}
		warnings[i] = schemas.ErrInvalidRegistration.With(warnings[i]...).Fields // as many, and as long, as field errors
	}
	return warnings, nil
}

// keyOf returns the key of a record of the entry's tenant that the reference names.
func (e entry) keyOf(to schemas.Reference) catalog.Key {
	return catalog.Key{Kind: to.Kind, Tenant: e.key.Tenant, ID: to.ID}
}

func advice(suggested string) string {
	if suggested == "" {
		return "register it, or correct the reference"
	}
	return fmt.Sprintf("did you mean %q?", suggested)
}

// suggestions returns for absent keys the id in their scope or in the list that is most alike,
// if there is one. It has none while the catalog is unavailable.
func (r registry) suggestions(ctx context.Context, absent map[catalog.Key]bool, list []entry) map[catalog.Key]string {
	var keys []catalog.Key
	for key := range absent {
		if absent[key] && !slices.ContainsFunc(list, func(e entry) bool { return e.key == key }) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b catalog.Key) int { return cmp.Compare(a.String(), b.String()) })
	suggested := map[catalog.Key]string{}
	for _, key := range keys[:min(len(keys), maxSuggested)] {
		var similar []string
		for _, tenant := range scope.Scope(key.Tenant).Tenants() {
			for _, e := range list {
				if e.key.Kind == key.Kind && e.key.Tenant == tenant {
					similar = append(similar, e.key.ID)
				}
			}
			_ = bucket.Bounded(ctx, "catalog", func(ctx context.Context) error { // a suggestion is optional
				stored, err := r.catalog.Similar(ctx, catalog.Key{Kind: key.Kind, Tenant: tenant, ID: key.ID})
				similar = append(similar, stored...)
				return err
			})
		}
		suggested[key] = schemas.Nearest(key.ID, slices.Values(similar))
	}
	return suggested
}

// lookUp sets the keys to false that are in the catalog, in the scope of their tenant or the
// global one. It skips keys of the list, unless that is strict.
func (r registry) lookUp(ctx context.Context, absent map[catalog.Key]bool, list []entry) error {
	certain := map[catalog.Key]bool{}
	for _, e := range list {
		certain[e.key] = !e.strict
	}
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(absent)), func(k catalog.Key) bool { return certain[k] })
	missing := make([]bool, len(keys))
	err := bucket.Bounded(ctx, "catalog", func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(maxLookups)
		for i, key := range keys {
			group.Go(func() (err error) {
				missing[i], err = r.missing(ctx, key)
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
// with its id in the catalog.
func (r registry) missing(ctx context.Context, key catalog.Key) (bool, error) {
	for _, tenant := range scope.Scope(key.Tenant).Tenants() {
		key.Tenant = tenant
		switch _, err := r.catalog.Get(ctx, key); {
		case err == nil:
			return false, nil
		case !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, catalog.ErrBadKey):
			return false, err
		}
	}
	return true, nil
}
