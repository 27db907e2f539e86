package estate

import "context"

// StatsUpTo is Stats with another maximum of groups.
func (e *Estate) StatsUpTo(ctx context.Context, q Query, maxGroups int) (Stats, error) {
	return compute(ctx, e, q, maxGroups)
}

// Derivation returns the array and the field whose elements are the records of a derived array. They are plain if they
// are the elements of lists, neither the members of maps nor those of several fields.
func (e *Estate) Derivation(key string) (parent, field string, derived, plain bool) {
	a := e.byKey[key]
	if a == nil || a.derived == nil {
		return "", "", false, false
	}
	return a.derived.parent.key, a.derived.field, true, !a.isMap && !a.derived.recursive && a.derived.siblings == nil
}
