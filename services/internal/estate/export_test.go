package estate

// StatsUpTo is Stats with another bound on the groups.
func (e *Estate) StatsUpTo(q Query, maxGroups int) (Stats, error) { return e.compute(q, maxGroups) }
