package estate

import "context"

// StatsUpTo is Stats with another maximum of groups.
func (e *Estate) StatsUpTo(ctx context.Context, q Query, maxGroups int) (Stats, error) {
	return compute(ctx, e, q, maxGroups)
}
