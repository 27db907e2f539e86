package offline

import "slices"

// planTurn plans the last of the user's questions. A follow-up ("and on Azure?") modifies
// the plan of the previous question, and has no answer if that one has none. seen is the
// array that was inspected for the question; it is not selected again.
func planTurn(asked []string, arrays []*array, seen string) plan {
	last := len(asked) - 1
	q := split(asked[last])
	if i := slices.IndexFunc(arrays, func(a *array) bool { return a.key == seen }); i >= 0 {
		arrays = arrays[i : i+1]
	}
	if len(q) > maxWords {
		return plan{refuse: "The question has too many words; please ask in fewer."}
	}
	p := makePlan(q, arrays)
	back := refersBack(q)
	if last == 0 || !back && (p.refuse == "" || len(q) > 7) {
		return p
	}
	before := planTurn(asked[:last], arrays, seen)
	if before.refuse != "" && back && len(q) < 5 || before.refuse == "" && before.array != nil && before.amend(q) {
		return before
	}
	return p
}

// refersBack reports whether q starts like a follow-up.
func refersBack(q []word) bool {
	how, _ := find(q, 0, "how many")
	return (how < 0 || len(q) < 6) && slices.ContainsFunc([]string{"and|only", "what|how about", "same for", "of those|these|them"},
		func(p string) bool {
			i, _ := find(q, 0, p)
			return i == 0
		})
}

// amend replaces the plan's conditions on the fields that q names. It returns false if q
// names none, or one that the plan cannot use.
func (p *plan) amend(q []word) bool {
	r := readNames(parse(q), p.array, newVocabulary(q)).readValues(makeIndex(q))
	by, _ := r.target(r.shape.by)
	var changed plan
	if r.conditions(&changed, by) != "" || len(r.unexplained()) > 0 {
		return false
	}
	if by != nil {
		p.group, p.goals = by, nil
		if p.intent == count || p.intent == distinct {
			p.intent = breakdown
		}
	}
	for _, c := range changed.conds {
		same := func(o cond) bool { return o.field == c.field }
		if i := slices.IndexFunc(p.goals, same); i >= 0 {
			p.goals[i] = c
			continue
		}
		p.conds = append(slices.DeleteFunc(p.conds, same), c)
	}
	return by != nil || len(changed.conds) > 0
}
