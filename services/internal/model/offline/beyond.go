package offline

import "slices"

// beyond refuses what no one call computes, however well it was understood.
func (b *builder) beyond(p plan, by *field) string {
	switch f := b.measure(p); {
	case f != nil:
		return "I cannot compare by " + f.path + "; please ask for the figure of each."
	case b.either(p):
		return "I cannot tell which records meet one of two conditions on different fields; please ask for each."
	case p.intent == share && p.goal != nil && len(p.goal.values) > 1 && b.says("ratio"):
		return "I cannot tell the ratio of one to the other; please ask for the number of each."
	case by != nil && !p.uses(by) && p.intent.conditional():
		return "I cannot tell this figure by " + by.path + "; please ask for one value of it at a time."
	case p.group != nil && p.goal == nil && p.group.listed():
		return "I cannot tell the figures by " + p.group.path + ", of which a record has several; please ask for one of them."
	case p.group != nil && p.goal == nil && !p.names && b.deniesRecords():
		return "I cannot tell which values of " + p.group.path + " have none of the records."
	}
	return ""
}

func (b *builder) says(word string) bool {
	i, _ := find(b.q, 0, word)
	return i >= 0
}

// either says whether an "or" stands between conditions on two fields: all
// conditions of a plan hold at once.
func (b *builder) either(p plan) bool {
	for i, t := range b.q {
		if t.low != "or" || b.r.by[i] >= 0 {
			continue
		}
		left, right := b.condBeside(p, i, -1), b.condBeside(p, i, 1)
		if left != nil && right != nil && left != right {
			return true
		}
	}
	return false
}

// condBeside is the field of the next condition of the plan from token i on in
// the direction of step; nil for none.
func (b *builder) condBeside(p plan, i, step int) *field {
	for i += step; i >= 0 && i < len(b.q); i += step {
		m, ok := b.r.at(i, asValue, asNumber, asField, asDate)
		if ok && slices.ContainsFunc(p.all(), func(c cond) bool { return c.field == m.field }) {
			return m.field
		}
	}
	return nil
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
