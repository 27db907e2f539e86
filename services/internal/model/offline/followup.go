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
	back, who := refersBack(q), pronoun(p.array, q)
	if last == 0 || !back && who < 0 && (p.declined == "" || len(q) > 7) {
		return p
	}
	before := planTurn(questions[:last], arrays, similar)
	if who >= 0 && !back {
		content := func(w word) bool { return !w.stop && !fillers[w.low] && !requests[w.low] }
		if before.array != nil && before.array.identity() != nil && !slices.ContainsFunc(q, content) { // "which ones?"
			p = plan{op: list, array: before.array, group: before.array.identity(), names: true}
		}
		if p.declined == "" && !narrow(&p, before) {
			p = plan{declined: "It is unclear what " + quoted(q[who].text) + " refers to."}
		}
		return p
	}
	if before.declined != "" && back && len(q) < 5 || before.declined == "" && before.array != nil && mergeFollowup(&before, q) {
		return before
	}
	return p
}

// refersBack reports whether q starts like a follow-up.
func refersBack(q []word) bool {
	how, _ := find(q, 0, "how many")
	starts := func(p string) bool { return matchLength(q, p) > 0 }
	return (how < 0 || len(q) < 6) &&
		slices.ContainsFunc([]string{"and|only", "what|how about", "same for", "of those|these|them", "per|by"}, starts) ||
		len(q) < 5 && starts("in|on|at|for|from|with|without")
}

// pronoun returns the index of a pronoun for the records of the question before; -1 if there is none, or if q names records of a.
func pronoun(a *array, q []word) int {
	of, _ := find(q, 0, "of those|these|them")
	named := func(w word) bool { return slices.ContainsFunc(a.parts, func(p part) bool { return p.stem == w.stem }) }
	if of < 0 && a != nil && slices.ContainsFunc(q, named) {
		return -1
	}
	i, _ := find(q, 0, "they|them|their|those|these|it|its|ones")
	which, _ := find(q, 0, "which one")
	return max(i, which)
}

// narrow restricts the plan to the records of the one before. It returns false if these are unclear.
func narrow(p *plan, before plan) bool {
	known := before.declined == "" && p.array == before.array && (before.group == nil || before.names)
	clash := func(c cond) bool { return p.on(c.field) }
	if !known || !before.op.conditional() && !oneOf(string(before.op), "list|aggregate") || p.any != nil ||
		slices.ContainsFunc(before.conds(), clash) {
		return false
	}
	p.all, p.any = slices.Concat(before.all, before.goals, p.all), before.any
	return true
}

// mergeFollowup replaces the plan's conditions on the fields that q names. It returns false if q names none, or one that the plan cannot
// use.
func mergeFollowup(p *plan, q []word) bool {
	r, _ := read(parse(q), []*array{p.array}, nil)
	by, _ := r.target(r.shape.by)
	var changed plan
	unused := func(l *link) bool { return l.role == asField && l.field != by && !changed.on(l.field) }
	if setConditions(&r, &changed, by) != "" || len(r.unexplained()) > 0 || changed.any != nil ||
		slices.ContainsFunc(r.links, unused) {
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
		if len(p.any) == 1 && same(p.any[0][0]) {
			p.any = nil
		} else if slices.ContainsFunc(slices.Concat(p.any...), same) {
			return false
		}
		if i := slices.IndexFunc(p.goals, same); i >= 0 {
			if p.op == compare {
				return false
			}
			p.goals[i] = c
			continue
		}
		p.all = append(slices.DeleteFunc(p.all, same), c)
	}
	return by != nil || len(changed.all) > 0
}
