package analyze

import (
	"context"
	"slices"
	"time"

	"cairn/bus"
	"cairn/schemas"
)

// listRuns lists the runs of the caller's tenants whose events are stored.
func (a analyzer) listRuns(ctx context.Context, q schemas.RunQuery) (schemas.RunList, error) {
	runs, err := bus.Analyze.Stored(ctx, a.Conn)
	if err != nil {
		return schemas.RunList{}, err
	}
	by := bus.Identity(ctx)
	runs = slices.DeleteFunc(runs, func(r bus.StoredRun) bool {
		return !bus.OwnsRun(by, r.Name) || q.State != "" && q.State != r.State
	})
	limit := schemas.DefaultLimit
	if q.Limit != nil {
		limit = *q.Limit
	}
	page, next, err := bus.PageOfRuns(runs, func(r bus.StoredRun) time.Time { return r.Started }, q.Cursor, limit)
	if err != nil {
		return schemas.RunList{}, schemas.ErrMalformed.With(schemas.FieldError{
			Field: "cursor", Message: "expected the unmodified next_cursor of a page",
		})
	}
	list := schemas.RunList{Runs: make([]schemas.RunSummary, len(page))}
	for i, r := range page {
		list.Runs[i] = schemas.RunSummary{
			Run: r.Name, State: r.State, StartedAt: r.Started.UTC().Format(time.RFC3339Nano), UpdatedAt: r.Updated.UTC().Format(time.RFC3339Nano),
		}
	}
	if next != "" {
		list.NextCursor = &next
	}
	return list, nil
}
