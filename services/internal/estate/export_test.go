package estate

import "context"

// StatsUpTo is Stats with another maximum of groups.
func (e *Estate) StatsUpTo(ctx context.Context, q Query, maxGroups int) (Stats, error) {
	return e.compute(ctx, q, maxGroups)
}
