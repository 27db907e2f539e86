package importer

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"cairn/edge/client"
	"cairn/schemas"
	"cairn/schemas/member"
)

// maxReads is the maximum number of concurrent reads from another Cairn.
const maxReads = 16

// readCairn returns all records of a tenant of another Cairn, or its global ones, without their
// tenant.
func readCairn(ctx context.Context, s *source) ([]entry, error) {
	if s.url == nil {
		return nil, errors.New("expected the URL of a Cairn")
	}
	c, err := client.New(client.Config{URL: s.url.Scheme + "://" + s.url.Host + s.url.Path, Key: s.Key})
	if err != nil {
		return nil, err
	}
	var keys []schemas.RecordKey
	for _, kind := range schemas.Kinds() {
		q := schemas.RecordQuery{
			Kind: kind, TenantID: schemas.Optional(s.SourceTenant), Scope: schemas.ScopeOf(s.SourceTenant), Limit: new(1000),
		}
		for r, err := range c.List(ctx, q) {
			if err != nil {
				return nil, err
			}
			keys = append(keys, schemas.RecordKey{Kind: kind, ID: r.ID, TenantID: q.TenantID, Scope: q.Scope})
			if len(keys) > maxRecords {
				return nil, fmt.Errorf("expected at most %d records", maxRecords)
			}
		}
	}
	return readWhole(ctx, c, keys, s.count)
}

// readWhole returns the records with the keys that exist.
func readWhole(ctx context.Context, c *client.Client, keys []schemas.RecordKey, count func(int)) ([]entry, error) {
	found := make([]entry, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for i, key := range keys {
		group.Go(func() error {
			r, err := c.Get(ctx, key)
			if errors.Is(err, schemas.ErrRecordNotFound) { // deleted since
				return nil
			}
			if err != nil {
				return err
			}
			text, err := member.Without(r.JSON, "tenant_id")
			count(1)
			found[i] = entry{location: key.Kind + "/" + key.ID, text: text, err: err}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var list []entry
	for _, e := range found {
		if e.location != "" {
			list = append(list, e)
		}
	}
	return list, nil
}
