package register

import (
	"context"
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
// were in the log. It compares the newest revision of each record that was written during the last entries of the log.
// Other workers may make changes meanwhile: their entries have the same IDs. The caller closes w afterwards.
func RecoverAudit(ctx context.Context, c *catalog.Catalog, log *audit.Log, w *audit.Writer) error {
	recent, since, err := log.Recent(ctx, recovered)
	if err != nil || since.IsZero() {
		return err
	}
	present := map[string]bool{}
	for _, e := range recent {
		present[e.Revision] = true
	}
	changes, err := c.WrittenSince(ctx, since)
	if err != nil {
		return err
	}
	for _, change := range changes {
		e := auditEntry(c.ID(), change, change.Origin())
		if e.Origin == (schemas.Origin{}) || present[e.Revision] { // the former was not written by a request
			continue
		}
		e.Time = change.Stored.UTC().Format(time.RFC3339Nano)
		if err := w.Enqueue(e); err != nil {
			return err
		}
	}
	return nil
}
