package register

import (
	"context"
	"fmt"
	"time"

	"cairn/bus/audit"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// recovered is the number of entries of the audit log that RecoverAudit compares with the catalog: more than the
// changes that workers make at the same time.
const recovered = 10_000

// auditEntry returns the entry of a change of a record or alias of the catalog with the ID.
func auditEntry(catalogID string, c catalog.Change, o schemas.Origin) schemas.AuditEntry {
	e := schemas.AuditEntry{
		Action: schemas.ActionRegister, Kind: c.Key.Kind, ID: c.Key.ID, Alias: c.Key.Alias, TenantID: c.Key.Tenant, Origin: o,
		Revision: schemas.ConsistencyToken{Catalog: catalogID, Revision: c.Revision}.String(),
	}
	switch {
	case c.Key.Alias != "" && c.Removed:
		e.Action = schemas.ActionDeleteAlias
	case c.Key.Alias != "":
		e.Action = schemas.ActionPromote
	case c.Removed:
		e.Action = schemas.ActionDelete
	case c.Replaces:
		e.Action = schemas.ActionReplace
	}
	return e
}

// RecoverAudit adds the entries of changes whose worker ended after it had written them to the catalog, and before they
// were in the audit log, unless the record has changed again. Their requests were not acknowledged. A worker calls it
// before it serves.
func RecoverAudit(ctx context.Context, c *catalog.Catalog, log *audit.Log) error {
	recent, err := log.Recent(ctx, recovered)
	if err != nil {
		return err
	}
	present, first := map[uint64]bool{}, uint64(0)
	for _, e := range recent {
		token, err := schemas.ParseConsistencyToken(e.Revision)
		if err != nil || token.Catalog != c.ID() {
			continue
		}
		present[token.Revision] = true
		if first == 0 || token.Revision < first {
			first = token.Revision
		}
	}
	if first == 0 {
		return nil
	}
	changes, err := c.WrittenSince(ctx, first)
	if err != nil {
		return err
	}
	for _, change := range changes {
		origin := change.Origin()
		if origin == (schemas.Origin{}) || present[change.Revision] { // the former was not written by a request
			continue
		}
		e := auditEntry(c.ID(), change, origin)
		e.Time = change.Stored.UTC().Format(time.RFC3339Nano)
		if err := log.Add(ctx, e); err != nil {
			return fmt.Errorf("recover the audit log: %w", err)
		}
	}
	return nil
}
