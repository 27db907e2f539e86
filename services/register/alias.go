package register

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// aliases has the handlers of the endpoints for aliases.
type aliases struct{ handlers }

// put stores a copy of the revision that the target selects. A deletion of the record at the same time deletes the
// alias: it either finds the alias, or put finds that there is no record.
func (a aliases) put(ctx context.Context, req schemas.PutAlias) (schemas.AliasStored, error) {
	record := keyOf(req.Kind, req.TenantID, req.ID)
	key := record
	key.Alias = req.Name
	var v catalog.Version
	err := bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
		if v, err = a.target(ctx, record, req.Target); err == nil {
			err = a.limit(ctx, key)
		}
		return err
	})
	if err != nil {
		return schemas.AliasStored{}, aliasError(err, key)
	}
	message, err := catalog.EncodeAlias(v)
	if err != nil {
		return schemas.AliasStored{}, err
	}
	w, err := a.putDurable(ctx, entry{key: key, record: message})
	if err != nil {
		return schemas.AliasStored{}, err
	}
	v.Stored = time.Time{} // unknown for the alias
	changes := changesOf(key, w)
	err = bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) error {
		_, err := a.Catalog.Get(ctx, record)
		if errors.Is(err, catalog.ErrNotFound) {
			revision, removed, failed := a.Catalog.Delete(ctx, key, always)
			if removed {
				changes = append(changes, catalog.Change{Key: key, Revision: revision, Removed: true})
			}
			err = errors.Join(err, failed)
		}
		return err
	})
	err = cmp.Or(err, a.audit(ctx, changes...))
	return schemas.AliasStored{
		Kind: req.Kind, ID: req.ID, Alias: v.Alias(key),
		Token: schemas.ConsistencyToken{Catalog: a.Catalog.ID(), Revision: w.Revision},
	}, aliasError(err, key)
}

// target returns the revision of the record that the request selects.
func (a aliases) target(ctx context.Context, record catalog.Key,
	to schemas.AliasTarget) (v catalog.Version, err error) {
	var list []catalog.Version
	switch {
	case to.Version != "":
		list, err = a.Catalog.Versions(ctx, record, to.Version)
		if err == nil && len(list) == 0 {
			err = schemas.ErrRecordNotFound.Because(fmt.Sprintf(
				"%s %q has no alias %[3]q, and its history no version %[3]q", record.Kind, record.ID, to.Version))
		}
		if err == nil {
			v = list[0]
		}
		return v, err
	case to.Revision != "":
		return a.revision(ctx, record, to.Revision)
	default:
		newest, err := a.Catalog.Get(ctx, record)
		return a.version(newest), err
	}
}

// revision returns the revision of the history of the record.
func (a aliases) revision(ctx context.Context, record catalog.Key, revision string) (v catalog.Version, err error) {
	token, err := schemas.ParseConsistencyToken(revision)
	if err != nil {
		return v, err // excluded by Validate
	}
	if _, err = a.Catalog.Get(ctx, record); err != nil {
		return v, err
	}
	r, err := a.Catalog.At(ctx, record, token.Revision)
	foreign := token.Catalog != "" && token.Catalog != a.Catalog.ID()
	if errors.Is(err, catalog.ErrNotFound) || err == nil && (r.Removed || foreign) {
		err = schemas.ErrRecordNotFound.Because(fmt.Sprintf("the history of %s %q does not have the record at revision %s",
			record.Kind, record.ID, revision))
	}
	return a.version(r), err
}

func (a aliases) version(r catalog.Revision) catalog.Version {
	token := schemas.ConsistencyToken{Catalog: a.Catalog.ID(), Revision: r.Revision}
	return catalog.Version{Token: token, Record: r.Record}
}

// limit returns an error if the record has schemas.MaxAliases other names.
func (a aliases) limit(ctx context.Context, key catalog.Key) error {
	record := key
	record.Alias = ""
	names, err := a.Catalog.AliasNames(ctx, record)
	if err == nil && len(names) >= schemas.MaxAliases && !slices.Contains(names, key.Alias) {
		err = schemas.ErrTooManyRequests.Because(fmt.Sprintf(
			"%s %q has had %d names of aliases, the maximum; use one of them again", key.Kind, key.ID, len(names)))
	}
	return err
}

// delete deletes an alias.
func (a aliases) delete(ctx context.Context, req schemas.AliasKey) (schemas.AliasDeleted, error) {
	key := keyOf(req.Kind, req.TenantID, req.ID)
	key.Alias = req.Name
	var revision uint64
	var removed bool
	err := bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
		revision, removed, err = a.Catalog.Delete(ctx, key, always)
		return err
	})
	if removed {
		err = a.audit(ctx, catalog.Change{Key: key, Revision: revision, Removed: true})
	}
	return schemas.AliasDeleted{Token: schemas.ConsistencyToken{Catalog: a.Catalog.ID(), Revision: revision}},
		aliasError(err, key)
}

// deleteAll deletes the aliases of a record, and returns the changes, also after an error.
func (a aliases) deleteAll(ctx context.Context, record catalog.Key) (changes []catalog.Change, err error) {
	names, err := a.Catalog.AliasNames(ctx, record)
	if err != nil {
		return nil, err
	}
	key := record
	for _, key.Alias = range names {
		revision, removed, err := a.Catalog.Delete(ctx, key, always)
		if err != nil {
			return changes, err
		}
		if removed {
			changes = append(changes, catalog.Change{Key: key, Revision: revision, Removed: true})
		}
	}
	return changes, nil
}

// always is the condition of an unconditional write.
func always(uint64) error { return nil }

// aliasError returns the error for the caller.
func aliasError(err error, key catalog.Key) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, catalog.ErrNotFound):
		scope := "the global scope"
		if key.Tenant != "" {
			scope = "the scope of tenant " + key.Tenant
		}
		return schemas.ErrRecordNotFound.Because(
			fmt.Sprintf("no %s %q in %s, to which the alias would belong", key.Kind, key.ID, scope))
	default:
		return keyError(err, "write an alias of", "id", key)
	}
}
