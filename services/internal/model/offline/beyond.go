package offline

// beyond refuses what no one call computes, however well it was understood.
func (b *builder) beyond(p plan, by *field) string {
	switch f := b.measure(p); {
	case f != nil:
		return "I cannot compare by " + f.path + "; please ask for the figure of each."
	case by != nil && !p.uses(by) && p.intent.conditional():
		return "I cannot tell this figure by " + by.path + "; please ask for one value of it at a time."
	case p.group != nil && p.goal == nil && p.group.listed():
		return "I cannot tell the figures by " + p.group.path + ", of which a record has several; please ask for one of them."
	case p.group != nil && p.goal == nil && !p.names && b.deniesRecords():
		return "I cannot tell which values of " + p.group.path + " have none of the records."
	}
	return ""
}

// measure is the numeric field by which values are to be compared, when it is
// not their number of records.
func (b *builder) measure(p plan) *field {
	for _, m := range b.r.matches {
		if p.intent == compare && m.role == asField && m.field.numeric() && m.field != p.group && !b.r.onlyFillers(m) {
			return m.field
		}
	}
	return nil
}

// deniesRecords says whether records themselves are denied: "which site has no
// switches" asks for a site that no record names.
func (b *builder) deniesRecords() bool {
	for _, m := range b.r.matches {
		outside := m.start() < b.s.focus[0] || m.start() >= b.s.focus[1]
		if m.role == asArray && outside && b.s.neg[m.start()] {
			return true
		}
	}
	return false
}
