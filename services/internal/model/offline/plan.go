package offline

import (
	"cmp"
	"slices"
)

// plan is what to compute and what to say about it.
type plan struct {
	intent  intent
	array   *array
	group   *field   // by which field is counted; nil for the total alone
	conds   []cond   // of the records asked about; all hold
	goals   []cond   // asked of them: share, all, presence; compare: the values
	metric  string   // avg, sum, min, max, p50 of measure
	measure *field   // the field of metric
	topN    int      // top
	least   bool     // top: the fewest
	names   bool     // list: of records by their names
	notes   []string // what to say beside the figures
	refuse  string   // why there is no answer; then nothing else counts
}

// makePlan understands a question about the arrays.
func makePlan(q []word, arrays []*array) plan {
	s := parse(q)
	switch {
	case s.intent == overview:
		return plan{intent: overview}
	case s.intent == unclear:
		return plan{refuse: unclearQuestion}
	}
	r, ok := read(s, arrays)
	if !ok {
		return plan{refuse: r.notFound()}
	}
	p := plan{intent: s.intent, array: r.array, topN: s.topN, least: s.least, metric: s.metric}
	if s.intent != fields {
		p.refuse = r.fill(&p)
	}
	return p
}

// fill makes the plan from what the question asks for, or says why not.
func (r reading) fill(p *plan) (refuse string) {
	target, records := r.target(r.focus)
	by, _ := r.target(r.shape.by)
	measured, _ := r.target(r.measured)
	if refuse = r.conditions(p, target, by, measured); refuse != "" {
		return refuse
	}
	switch r.intent {
	case count, distinct:
		refuse = r.countPlan(p, target, records)
	case list, breakdown, top:
		refuse = r.groupPlan(p, target, by, measured, records)
	case share, all, yesno:
		refuse = r.goalPlan(p)
	case compare:
		refuse = r.comparePlan(p)
	case metric:
		refuse = r.metricPlan(p, target, by, records)
	}
	return cmp.Or(refuse, r.doubts(p))
}

// target is what a phrase asks for: the field that its last understood word
// names, or records of the array.
func (r reading) target(of span) (f *field, records bool) {
	for i := of[1] - 1; i >= of[0]; i-- {
		if m, ok := r.at(i, asField, asNumber); ok && (m.whole >= 0.6 || m.plain && m.whole >= 0.4) {
			return m.field, false
		}
		if _, ok := r.at(i, asArray, asGeneric, asValue); ok {
			return nil, true
		}
	}
	return nil, false
}

// conditions finds what the question puts on the records, leaving out the
// fields it asks for.
func (r reading) conditions(p *plan, asked ...*field) (refuse string) {
	for _, m := range r.matches {
		c, ok := r.condition(m)
		isAsked := m.role == asField && slices.Contains(asked, m.field) && !(r.intent.conditional() && (m.field.flag() || r.intent != count))
		if !ok || isAsked {
			continue
		}
		i := slices.IndexFunc(p.conds, func(o cond) bool { return o.field == c.field })
		switch {
		case m.role == asNumber && r.neg[m.start()]:
			return "I cannot tell what must not be."
		case i < 0:
			p.conds = append(p.conds, c)
		case m.role != asField:
			if p.conds[i], ok = p.conds[i].join(c); !ok {
				return "I cannot tell two things of " + c.field.path + " at a time; please ask for one of them."
			}
		}
	}
	slices.SortStableFunc(p.conds, func(x, y cond) int { return cmp.Compare(x.end(), y.end()) })
	return ""
}

// on says whether the plan has a condition on f.
func (p plan) on(f *field) bool {
	return slices.ContainsFunc(slices.Concat(p.conds, p.goals), func(c cond) bool { return c.field == f })
}

// countPlan counts records, or the values of a field, or sums its numbers.
func (r reading) countPlan(p *plan, target *field, records bool) string {
	p.intent = count
	switch {
	case records && r.intent == distinct && len(p.conds) == 0 && p.array.identity() != nil:
		p.intent, p.group = distinct, p.array.identity()
	case records, target != nil && (p.on(target) || target.flag()), target == nil && len(p.conds) > 0 && !r.unknown(r.focus):
		p.takeGoal()
	case target == nil || target.has("array") || target.has("object"):
		return r.notFound(r.focus)
	case target.numeric() && r.intent == count:
		p.intent, p.metric, p.measure = metric, "sum", target
	default:
		p.intent, p.group = distinct, target
	}
	return ""
}

// takeGoal sets the last condition that is shown aside, so that the result
// tells it beside its opposite.
func (p *plan) takeGoal() {
	for i := len(p.conds) - 1; i >= 0 && p.goals == nil; i-- {
		if p.conds[i].shown {
			p.goals, p.conds = []cond{p.conds[i]}, slices.Delete(slices.Clone(p.conds), i, i+1)
		}
	}
}

// unknown says whether nothing explains the noun of the phrase.
func (r reading) unknown(of span) bool {
	return !of.empty() && r.by[of[1]-1] < 0 && !r.q[of[1]-1].stop
}

// wants says whether the phrase has words that carry meaning.
func (r reading) wants(of span) bool {
	return slices.ContainsFunc(r.q[of[0]:max(of[0], of[1])], word.content)
}

// groupPlan counts by a field: the values asked for, or the records by name; or
// ranks them by their records or by a measure.
func (r reading) groupPlan(p *plan, target, by, measured *field, records bool) string {
	if r.intent == list && target != nil && (p.on(target) || target.flag()) {
		target, records = nil, true
	}
	extreme := map[bool]string{true: "min", false: "max"}[r.least]
	next, two := r.at(r.shape.by[1]+1, asField)
	p.group = cmp.Or(by, target)
	switch {
	case r.bare && (!records || len(p.conds) == 0):
		return unclearQuestion
	case by != nil && two && next.field != by && r.q[r.shape.by[1]].low == "and":
		return "I cannot tell the figures by two fields at a time; please ask by one of them."
	case r.intent == top && measured != nil && measured != target && measured.numeric():
		p.measure, p.group, p.metric = measured, cmp.Or(target, p.array.identity()), cmp.Or(p.metric, extreme)
		if target != nil && r.amount && r.metric == "" {
			p.metric = "sum"
		}
	case r.intent == top && records && by != nil && by.numeric():
		p.measure, p.group, p.metric = by, p.array.identity(), extreme
	case r.intent == breakdown && by == nil && !r.shape.by.empty():
		if r.unknown(r.shape.by) {
			return r.notFound(r.shape.by)
		}
		return r.countPlan(p, target, records) // "made by Philips"
	case r.intent == list && p.group == nil && (records || len(p.conds) > 0 && !r.wants(r.focus)):
		p.group, p.names = p.array.identity(), true
	}
	if p.group == nil && (len(p.conds) == 0 || r.intent != breakdown && !p.names) {
		return r.notFound(r.shape.by, r.focus)
	} else if p.group == nil {
		p.intent = count
	}
	return ""
}

// goalPlan separates what is asked from the records of which it is asked: what
// is said after the verb or, without one, last.
func (r reading) goalPlan(p *plan) string {
	switch {
	case len(p.conds) == 0 && (r.intent != yesno || len(r.unexplained()) > 0):
		return r.notFound()
	case r.intent == yesno:
		p.takeGoal()
		return ""
	}
	first := len(p.conds) - 1
	if verb, _ := find(r.q, r.focus[0], auxiliaries+"|run|runs|use|uses|using|sit|sits|come|comes|live|lives|belong|belongs|carry"); verb >= 0 && r.intent == share {
		if i := slices.IndexFunc(p.conds, func(c cond) bool { return c.end() > verb }); i >= 0 {
			first = i
		}
	}
	p.conds, p.goals = p.conds[:first], p.conds[first:]
	return ""
}

func (r reading) comparePlan(p *plan) string {
	for _, m := range r.matches {
		if m.role == asField && m.field.numeric() && r.wants(span{m.start(), m.end()}) {
			return "I cannot compare by " + m.field.path + "; please ask for the figure of each."
		}
	}
	i := slices.IndexFunc(p.conds, func(c cond) bool { return len(c.values) > 1 })
	if i < 0 {
		return "I see no two values of one field to compare."
	}
	p.group = p.conds[i].field
	if p.intent = breakdown; !r.each {
		p.intent, p.goals, p.conds = compare, p.conds[i:i+1], slices.Delete(slices.Clone(p.conds), i, i+1)
	}
	return ""
}

func (r reading) metricPlan(p *plan, target, by *field, records bool) string {
	if how, _ := find(r.q, 0, "how"); target == nil && (how < 0 || !records) {
		for _, m := range r.matches { // "what did the jobs cost in total"
			if m.role == asField && m.field.numeric() && m.field != by && !p.on(m.field) && (records || !r.wants(r.focus)) {
				target = m.field
			}
		}
	}
	switch {
	case target == nil && records && p.metric == "sum":
		p.intent, p.metric = count, ""
		p.takeGoal()
	case target != nil && target.numeric():
		p.measure, p.group = target, by
	default:
		return r.notFound(r.focus)
	}
	return ""
}
