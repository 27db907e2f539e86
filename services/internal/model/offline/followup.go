package offline

import "slices"

// planTurn plans the last of the user's questions. One that only makes sense
// after another ("and on Azure?") changes the plan of that one. When an array
// has been seen for the question it is not looked for again.
func planTurn(asked []string, arrays []*array, seen string) plan {
	q := split(asked[len(asked)-1])
	if i := slices.IndexFunc(arrays, func(a *array) bool { return a.key == seen }); i >= 0 {
		arrays = arrays[i : i+1]
	}
	p := makePlan(q, arrays)
	if len(asked) < 2 || !refersBack(q) && p.refuse == "" {
		return p
	}
	before := planTurn(asked[:len(asked)-1], arrays, seen)
	if before.refuse != "" || before.array == nil {
		return p
	}
	if amended, ok := before.amend(q); ok && (refersBack(q) || len(q) < 8) {
		return amended
	}
	return p
}

// refersBack says whether q begins as a question that goes on from another.
func refersBack(q []word) bool {
	how, _ := find(q, 0, "how many")
	return (how < 0 || len(q) < 6) && slices.ContainsFunc([]string{"and", "what|how about", "same for", "of those|these|them", "only"}, func(p string) bool {
		i, _ := find(q, 0, p)
		return i == 0
	})
}

// amend puts what q says in place of what the plan said of the same fields.
func (p plan) amend(q []word) (plan, bool) {
	r := readAll(parse(q), p.array, makeIndex(q))
	by, _ := r.target(r.shape.by)
	var changed plan
	if r.conditions(&changed, by) != "" || len(r.unexplained()) > 0 {
		return p, false
	}
	if by != nil {
		p.group, p.goals = by, nil
		if p.intent == count || p.intent == distinct {
			p.intent = breakdown
		}
	}
	p.conds, p.goals = slices.Clone(p.conds), slices.Clone(p.goals)
	for _, c := range changed.conds {
		same := func(o cond) bool { return o.field == c.field }
		if i := slices.IndexFunc(p.goals, same); i >= 0 {
			p.goals[i] = c
			continue
		}
		p.conds = append(slices.DeleteFunc(p.conds, same), c)
	}
	return p, by != nil || len(changed.conds) > 0
}
