package register

import (
	"context"
	"sync"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// bulk is the registration of several records at once.
type bulk struct {
	handlers
	results  []schemas.RecordResult // one per record of the request
	accepted []candidate
}

// candidate is a valid record that the caller may register.
type candidate struct {
	entry
	line       int // in the request
	result     *schemas.RecordResult
	warnings   []schemas.FieldError
	registered schemas.Registered
	changes    []catalog.Change
}

// read decodes and authorizes the records.
func (b *bulk) read(ctx context.Context, req schemas.PutRecords) {
	identity := bus.Identity(ctx)
	for i := range req.Records {
		put, err := req.Put(i)
		b.results[i] = schemas.RecordResult{Kind: put.Kind, ID: put.ID}
		if err == nil {
			err = put.Validate()
		}
		if err == nil {
			err = identity.AuthorizeTenant(schemas.PermissionRegister, &put)
		}
		c := candidate{line: i, result: &b.results[i]}
		if err == nil {
			c.entry, err = putEntry(put)
		}
		if err != nil {
			b.results[i] = b.results[i].Rejected(bus.PartError(ctx, err))
			continue
		}
		b.accepted = append(b.accepted, c)
	}
}

// check rejects the strict candidates that have warnings.
func (b *bulk) check(ctx context.Context) error {
	entries := make([]entry, len(b.accepted))
	for i, c := range b.accepted {
		entries[i] = c.entry
	}
	warnings, err := b.warnings(ctx, entries)
	if err != nil {
		return err
	}
	kept := b.accepted[:0]
	for i, c := range b.accepted {
		if err := b.permit(bucket.WithPart(ctx, c.line), c.entry, warnings[i]); err != nil {
			*c.result = c.result.Rejected(bus.PartError(ctx, err))
			continue
		}
		c.warnings = warnings[i]
		kept = append(kept, c)
	}
	b.accepted = kept
	return nil
}

// store stores the candidates, those with the same key in order.
func (b *bulk) store(ctx context.Context) {
	byKey := map[catalog.Key][]*candidate{}
	for i := range b.accepted {
		c := &b.accepted[i]
		byKey[c.key] = append(byKey[c.key], c)
	}
	var storing sync.WaitGroup
	for _, same := range byKey {
		storing.Go(func() {
			for _, c := range same {
				w, err := b.putDurable(bucket.WithPart(ctx, c.line), c.entry)
				if err != nil {
					*c.result = c.result.Rejected(bus.PartError(ctx, err))
				}
				c.changes = changesOf(c.key, w)
				c.registered = schemas.Registered{Catalog: b.Catalog.ID(), Revision: w.Revision, Unchanged: w.Unchanged}
			}
		})
	}
	storing.Wait()
}

// confirm waits until the stored records are in the audit log and searchable, and returns the token of the last one.
func (b *bulk) confirm(ctx context.Context) (schemas.ConsistencyToken, error) {
	var newest schemas.Registered
	var changes []catalog.Change
	for _, c := range b.accepted {
		newest.Catalog, newest.Revision = b.Catalog.ID(), max(newest.Revision, c.registered.Revision)
		changes = append(changes, c.changes...)
	}
	if newest.Revision > 0 {
		var err error
		if newest, err = b.handlers.confirm(ctx, newest.Revision, changes...); err != nil {
			return schemas.ConsistencyToken{}, err
		}
	}
	for _, c := range b.accepted {
		if c.registered.Revision > 0 {
			c.registered.Indexed = newest.Indexed
			*c.result = c.result.Stored(c.registered, c.warnings)
		}
	}
	return newest.CatalogRevision(), nil
}
