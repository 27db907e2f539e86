package offline

import "slices"

// planTurn plans the last of the user's questions. A follow-up ("and on Azure?") modifies the plan of the previous question, and has no
// answer if that one has none.
func planTurn(questions []string, arrays []*array, similar Similar) plan {
	last := len(questions) - 1
	q := split(questions[last])
	if len(q) > maxWords {
		return plan{declined: "The question is too long: at most 256 words."}
	}
	p := makePlan(q, arrays, similar)
	if ie := slices.IndexFunc(q, func(w word) bool { return w.low == "ie" }); p.declined != "" && ie > 0 {
		p = makePlan(q[:ie], arrays, similar)
	}
	back := refersBack(q)
	if last == 0 || !back && (p.declined == "" || len(q) > 7) {
		return p
	}
	before := planTurn(questions[:last], arrays, similar)
	if before.declined != "" && back && len(q) < 5 || before.declined == "" && before.array != nil && before.mergeFollowup(q) {
		return before
	}
	return p
}

// refersBack reports whether q starts like a follow-up.
func refersBack(q []word) bool {
	how, _ := find(q, 0, "how many")
	starts := func(p string) bool { return matchLength(q, p) > 0 }
	return (how < 0 || len(q) < 6) && slices.ContainsFunc([]string{"and|only", "what|how about", "same for", "of those|these|them"}, starts)
}

// mergeFollowup replaces the plan's conditions on the fields that q names. It returns false if q names none, or one that the plan cannot
// use.
func (p *plan) mergeFollowup(q []word) bool {
	r, _ := read(parse(q), []*array{p.array}, nil)
	by, _ := r.target(r.shape.by)
	var changed plan
	if r.conditions(&changed, by) != "" || len(r.unexplained()) > 0 || changed.any != nil || changed.also != nil {
		return false
	}
	if by != nil {
		p.group, p.goals = by, nil
		if p.op == count || p.op == distinct {
			p.op = breakdown
		}
	}
	for _, c := range changed.all {
		same := func(o cond) bool { return o.field == c.field }
		if slices.ContainsFunc(slices.Concat(p.any...), same) {
			return false
		}
		if i := slices.IndexFunc(p.goals, same); i >= 0 {
			if p.op == compare {
				return false
			}
			p.goals[i] = c
			continue
		}
		p.all, p.also = append(slices.DeleteFunc(p.all, same), c), slices.DeleteFunc(p.also, same)
	}
	return by != nil || len(changed.all) > 0
}
