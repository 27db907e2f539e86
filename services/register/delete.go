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
)

// referrersTimeout bounds the lookup of referrers that a deletion only reports.
const referrersTimeout = time.Second

// deletions has the handlers that delete records.
type deletions struct{ handlers }

// unregister deletes a record regardless of its referrers, which it reports if they are available.
func (d deletions) unregister(ctx context.Context, u schemas.Unregister) (schemas.Unregistered, error) {
	bounded, cancel := context.WithTimeout(ctx, referrersTimeout)
	referrers, _ := d.referrers(bounded, u)
	cancel()
	done, err := d.delete(ctx, u)
	done.Referrers = referrers
	return done, err
}

// deleteRecord returns ErrRecordReferenced for a record with referrers, unless the request forces the deletion.
func (d deletions) deleteRecord(ctx context.Context, req schemas.DeleteRecord) (schemas.Unregistered, error) {
	if req.Force {
		return d.delete(ctx, req.Unregister)
	}
	var referrers *schemas.ReferrerSummary
	err := bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
		referrers, err = d.referrers(ctx, req.Unregister)
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
	return d.delete(ctx, req.Unregister)
}

// referrers returns the records whose links would dangle without an existing record; nil: none. Those of a global
// record may belong to any tenant.
func (d deletions) referrers(ctx context.Context, u schemas.Unregister) (*schemas.ReferrerSummary, error) {
	revision, err := d.Catalog.Revision(ctx)
	if err != nil {
		return nil, fmt.Errorf("look up referrers: %w", err)
	}
	list, err := d.Referrers(bus.WithTokens(ctx, schemas.ConsistencyToken{Catalog: d.Catalog.ID(), Revision: revision}),
		schemas.ReferrerQuery{Kind: u.Kind, ID: u.ID, TenantID: u.TenantID, Dangling: true,
			Limit: new(schemas.MaxReferrers)})
	if err != nil {
		return nil, fmt.Errorf("look up referrers: %w", err)
	}
	if list.Count == 0 {
		return nil, nil
	}
	_, err = d.Catalog.Get(ctx, keyOf(u.Kind, u.TenantID, u.ID))
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrBadKey) {
		return nil, nil // deletes nothing
	}
	return &schemas.ReferrerSummary{Count: list.Count, First: list.Referrers}, err
}
