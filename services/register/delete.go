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
	"cairn/services/internal/scope"
)

// referrersTimeout bounds the lookup of referrers that a deletion only reports.
const referrersTimeout = time.Second

// unregister deletes a record regardless of its referrers, which it reports if they are available.
func unregister(ctx context.Context, r handlers, u schemas.Unregister) (schemas.Unregistered, error) {
	bounded, cancel := context.WithTimeout(ctx, referrersTimeout)
	referrers, _ := referrersOf(bounded, r, u)
	cancel()
	done, err := r.delete(ctx, u)
	done.Referrers = referrers
	return done, err
}

// deleteRecord returns ErrRecordReferenced for a record with referrers, unless the request forces the deletion.
func deleteRecord(ctx context.Context, r handlers, d schemas.DeleteRecord) (schemas.Unregistered, error) {
	if d.Force {
		return r.delete(ctx, d.Unregister)
	}
	var referrers *schemas.ReferrerSummary
	err := bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
		referrers, err = referrersOf(ctx, r, d.Unregister)
		return err
	})
	if err != nil {
		return schemas.Unregistered{}, err
	}
	if referrers != nil {
		refused := schemas.ErrRecordReferenced.Because(referrers.String() + "; force deletes it nevertheless")
		refused.Referrers = referrers
		return schemas.Unregistered{}, refused
	}
	return r.delete(ctx, d.Unregister)
}

// referrersOf returns the records that link to an existing record; nil: none. Those of a global record may belong to
// any tenant.
func referrersOf(ctx context.Context, r handlers, u schemas.Unregister) (*schemas.ReferrerSummary, error) {
	key := keyOf(u.Kind, u.TenantID, u.ID)
	revision, err := r.Catalog.Revision(ctx)
	if err != nil {
		return nil, fmt.Errorf("look up referrers: %w", err)
	}
	list, err := r.Referrers(bus.WithTokens(ctx, schemas.ConsistencyToken{Catalog: r.Catalog.ID(), Revision: revision}),
		schemas.ReferrerQuery{Kind: u.Kind, ID: u.ID, TenantID: u.TenantID, AllTenants: key.Tenant == scope.Global,
			Limit: new(schemas.MaxReferrers)})
	if err != nil {
		return nil, fmt.Errorf("look up referrers: %w", err)
	}
	if list.Count == 0 {
		return nil, nil
	}
	if _, err = r.Catalog.Get(ctx, key); errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrBadKey) {
		return nil, nil // deletes nothing
	}
	return &schemas.ReferrerSummary{Count: list.Count, First: list.Referrers}, err
}
