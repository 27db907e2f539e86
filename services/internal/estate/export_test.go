package estate

import "context"

// StatsUpTo is Stats with another maximum of groups.
func (e *Estate) StatsUpTo(ctx context.Context, q Query, maxGroups int) (Stats, error) {
	return compute(ctx, e, q, maxGroups)
}

// Derivation returns the array and the field whose elements are the records of an array; how is the way in which they
// are, as in TestDerivation.
func (e *Estate) Derivation(key string) (parent, field string, derived bool) {
	a := e.byKey[key]
	if a == nil || a.derived == nil {
		return "", "", false
	}
	return a.derived.parent.key, a.derived.field, true
}

// IsPlain reports whether the records of a derived array are the elements of lists in the field, neither the members
// of maps nor those of several fields.
func (e *Estate) IsPlain(key string) bool {
	a := e.byKey[key]
	return !a.isMap && !a.derived.recursive && a.derived.siblings == nil
}
