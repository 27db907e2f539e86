package resolve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/scope"
)

// listRecords lists records of any kind and status.
func listRecords(ctx context.Context, r *Resolver, q schemas.RecordQuery) (schemas.RecordList, error) {
	labels, err := schemas.ParseLabels(q.Labels)
	if err != nil {
		return schemas.RecordList{}, err // excluded by Validate
	}
	if err := r.waitMinRevision(ctx); err != nil {
		return schemas.RecordList{}, err
	}
	before := r.token(r.view.Applied.Revision())
	s := scope.Scope(schemas.ValueOr(q.TenantID, ""))
	page, next, err := listPage(ctx, r, listing{
		kind: q.Kind, scope: s, tenants: s.Named(q.Scope), limit: q.Limit, cursor: q.Cursor,
		want: filter{any: true, domain: q.Domain, status: q.Status, labels: schemas.LabelTerms(labels), prefix: q.Prefix,
			public: q.Public},
	})
	list := schemas.RecordList{Records: summaries(page), NextCursor: next, Revision: before}
	for _, k := range page {
		list.StoredAt = append(list.StoredAt, time.UnixMilli(k.written).UTC().Format(time.RFC3339Nano))
	}
	return list, err
}

// getRecord returns a record as it was registered. It reads the catalog, because the
// view has no content of resources. Such a read includes every acknowledged write.
func getRecord(ctx context.Context, r *Resolver, record schemas.RecordAt) (answer schemas.RecordFound, err error) {
	read := r.deps.Catalog.Get
	if record.Revision != "" {
		token, err := schemas.ParseConsistencyToken(record.Revision)
		if err != nil {
			return answer, err // excluded by Validate
		}
		if token.Catalog != "" && token.Catalog != r.deps.Catalog.ID() {
			return answer, schemas.ErrRecordNotFound.Because("catalog mismatch: the revision does not belong to catalog " +
				r.deps.Catalog.ID())
		}
		read = func(ctx context.Context, key catalog.Key) (catalog.Revision, error) {
			return r.deps.Catalog.At(ctx, key, token.Revision)
		}
	}
	revision, err := inScope(ctx, r, record.RecordKey, read)
	if v, ok := parseVersion(record.ID); ok && errors.Is(err, schemas.ErrRecordNotFound) && record.Revision == "" {
		return getVersion(ctx, r, record.RecordKey, v)
	}
	switch {
	case errors.Is(err, schemas.ErrRecordNotFound) && record.Revision != "":
		return answer, schemas.ErrRecordNotFound.Because(
			fmt.Sprintf("the history of %s %q does not have revision %s", record.Kind, record.ID, record.Revision))
	case err != nil:
		return answer, err
	case revision.Removed:
		return answer, schemas.ErrRecordNotFound.Because(fmt.Sprintf("%s %q was deleted at revision %s", record.Kind,
			record.ID,
			record.Revision))
	}
	return schemas.RecordFound{Record: revision.Record, Token: r.token(revision.Revision)}, nil
}

// getVersion returns the revision of the record that has the alias, or else the newest one with the version.
func getVersion(ctx context.Context, r *Resolver, k schemas.RecordKey, v version) (schemas.RecordFound, error) {
	k.ID = v.record
	list, err := inScope(ctx, r, k, func(ctx context.Context, key catalog.Key) ([]catalog.Version, error) {
		return r.deps.Catalog.Versions(ctx, key, v.version)
	})
	if err != nil {
		return schemas.RecordFound{}, err
	}
	if len(list) == 0 {
		return schemas.RecordFound{}, schemas.ErrRecordNotFound.Because(
			fmt.Sprintf("%s %q has no alias %[3]q, and its history no version %[3]q", k.Kind, k.ID, v.version))
	}
	return schemas.RecordFound{Record: list[0].Record, Token: list[0].Token}, nil
}

// recordAliases returns the aliases of a record, ordered by name.
func recordAliases(ctx context.Context, r *Resolver, k schemas.RecordKey) (list schemas.AliasList, err error) {
	list.Aliases, err = inScope(ctx, r, k, func(ctx context.Context, key catalog.Key) ([]schemas.Alias, error) {
		_, err := r.deps.Catalog.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		names, err := r.deps.Catalog.AliasNames(ctx, key)
		if err != nil {
			return nil, err
		}
		aliases := []schemas.Alias{}
		for _, key.Alias = range names {
			v, err := r.deps.Catalog.Alias(ctx, key)
			if errors.Is(err, catalog.ErrNotFound) { // deleted
				continue
			}
			if err != nil {
				return nil, err
			}
			aliases = append(aliases, v.Alias(key))
		}
		return aliases, nil
	})
	return list, err
}

// recordHistory returns the retained revisions of a record.
func recordHistory(ctx context.Context, r *Resolver, k schemas.RecordKey) (history schemas.RecordHistory, err error) {
	list, err := inScope(ctx, r, k, func(ctx context.Context, key catalog.Key) ([]catalog.Revision, error) {
		list, err := r.deps.Catalog.History(ctx, key)
		if err == nil && len(list) == 0 {
			err = catalog.ErrNotFound
		}
		return list, err
	})
	for _, revision := range list {
		entry := schemas.RecordRevision{
			Revision: r.token(revision.Revision).String(), StoredAt: revision.Stored.UTC().Format(time.RFC3339Nano),
			Removed: revision.Removed, Author: revision.Origin().Author,
		}
		if fields, err := schemas.DecodeStored[schemas.Metadata](k.Kind, revision.Record); err == nil {
			entry.Version, entry.Status = fields.Version, fields.Status
		}
		history.Revisions = append(history.Revisions, entry)
	}
	return history, err
}

// recordUsage returns how often the tenant has used a record.
func recordUsage(ctx context.Context, r *Resolver, k schemas.RecordKey) (schemas.RecordUsage, error) {
	record, err := inScope(ctx, r, k, func(ctx context.Context, key catalog.Key) (catalog.Key, error) {
		_, err := r.deps.Catalog.Get(ctx, key)
		return key, err
	})
	if err != nil {
		return schemas.RecordUsage{}, err
	}
	return r.deps.Usage.Read(ctx, schemas.ValueOr(k.TenantID, ""), record)
}

// inScope returns the first result of read for a tenant of the record's scope. read reads
// the catalog, and returns [catalog.ErrNotFound] if the tenant has no such record.
func inScope[T any](ctx context.Context, r *Resolver, k schemas.RecordKey,
	read func(context.Context, catalog.Key) (T, error)) (result T, err error) {
	if revision := r.minRevision(ctx); revision > r.view.Applied.Revision() {
		if err := r.checkRevision(ctx, revision); err != nil {
			return result, err
		}
	}
	s := scope.Scope(schemas.ValueOr(k.TenantID, ""))
	for _, tenant := range s.Named(k.Scope) {
		err = bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
			result, err = read(ctx, catalog.Key{Kind: k.Kind, Tenant: tenant, ID: k.ID})
			return err
		})
		switch {
		case errors.Is(err, catalog.ErrNotFound), errors.Is(err, catalog.ErrBadKey): // no record has such a key
			continue
		case err != nil:
			return result, fmt.Errorf("read a record of kind %s: %w", k.Kind, err)
		}
		return result, nil
	}
	return result, schemas.ErrRecordNotFound.Because(fmt.Sprintf("no %s %q in %s", k.Kind, k.ID, s.Text(k.Scope)))
}
