package importer

import (
	"context"
	"errors"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
	"cairn/schemas/member"
)

// readCairn returns all records of a tenant of another Cairn, or its global ones, without their
// tenant.
func readCairn(ctx context.Context, s *source) ([]entry, error) {
	if s.url == nil {
		return nil, flags.Usage(errors.New("expected the URL of a Cairn"))
	}
	c, err := client.New(client.Config{URL: s.url.Scheme + "://" + s.url.Host + s.url.Path, Key: s.Key})
	if err != nil {
		return nil, err
	}
	stored, err := records.Scope{Tenant: s.SourceTenant, Kinds: schemas.Kinds(), Limit: maxRecords}.List(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := records.ReadWhole(ctx, c, stored, s.Read); err != nil {
		return nil, err
	}
	var list []entry
	for _, r := range stored {
		if r.JSON != nil { // not deleted since
			text, err := member.Without(r.JSON, "tenant_id")
			list = append(list, entry{location: r.Kind + "/" + r.ID, text: text, err: err})
		}
	}
	return list, nil
}
