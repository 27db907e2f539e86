package replay

// Reads counts a list of the tenant as in progress, and reports whether that is permitted.
func (l *Lister) Reads(tenant string) bool { return l.lists.Acquire(tenant, 1) }
