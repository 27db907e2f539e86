package offline

import (
	"slices"
)

// planTurn plans the last of the user's questions. One that only makes sense
// after another ("and on Azure?") changes the plan of that one.
func planTurn(asked []string, arrays []*array) plan {
	q := tokenize(asked[len(asked)-1])
	p := makePlan(q, arrays)
	if len(asked) < 2 || !refersBack(q) && p.refuse == "" {
		return p
	}
	before := planTurn(asked[:len(asked)-1], arrays)
	if before.refuse != "" || before.array == nil {
		return p
	}
	if amended, ok := before.amend(q); ok && (refersBack(q) || p.refuse != "" && len(q) < 8) {
		return amended
	}
	return p
}

// refersBack says whether q begins as a question that goes on from another.
func refersBack(q []token) bool {
	if len(q) == 0 {
		return false
	}
	for _, p := range []string{"and", "what|how about", "same for", "of those|these|them", "only"} {
		if i, _ := find(q, 0, p); i == 0 {
			n, _ := find(q, 0, "how many")
			return n < 0 || len(q) < 6
		}
	}
	return false
}

// amend puts what q says in place of what the plan said of the same fields.
func (p plan) amend(q []token) (plan, bool) {
	s := parse(q)
	r := read(q, s, p.array, makeGrams(q))
	b := builder{q: q, s: s, r: r}
	by, _ := b.target(s.by)
	if rest := r.unexplained(q, s); len(rest) > 0 {
		return p, false
	}
	changed := b.conds(by)
	if by != nil {
		p.group, p.goal = by, nil
		if p.intent == count || p.intent == distinct {
			p.intent = breakdown
		}
	}
	for _, c := range changed {
		p.conds = slices.DeleteFunc(slices.Clone(p.conds), func(o cond) bool { return o.field == c.field })
		if p.goal != nil && p.goal.field == c.field {
			p.goal = &c
			continue
		}
		p.conds = append(p.conds, c)
	}
	return p, by != nil || len(changed) > 0
}
