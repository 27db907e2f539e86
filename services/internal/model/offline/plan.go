package offline

import (
	"cmp"
	"slices"
)

// plan is a computation and the form of its answer.
type plan struct {
	intent  intent
	array   *array
	group   *field   // by which field is counted; nil for the total alone
	conds   []cond   // on the records; all must hold
	goals   []cond   // tested on the records: share, all, yesno; compare: the values
	metric  string   // avg, sum, min, max, p50 of measure
	measure *field   // the field of metric
	topN    int      // top
	least   bool     // top: the fewest
	names   bool     // list: of records by their names
	notes   []string // remarks besides the figures
	refuse  string   // the reason of a refusal; other fields are then unused
}

// wanted is the target of a question's phrases.
type wanted struct {
	target, by, measured *field
	records              bool // the records themselves are the target
}

// makePlan plans a question about the arrays.
func makePlan(q []word, arrays []*array) plan {
	s := parse(q)
	switch {
	case s.intent == overview:
		return plan{intent: overview}
	case s.intent == unclear:
		return plan{refuse: unclearQuestion}
	}
	r, ok := read(s, arrays)
	p := plan{intent: s.intent, array: r.array, topN: s.topN, least: s.least, metric: s.metric}
	switch {
	case !ok:
		return plan{refuse: r.notFound()}
	case s.intent != fields:
		p.refuse = r.fill(&p)
	}
	return p
}

// fill sets the plan, or returns the reason of a refusal.
func (r reading) fill(p *plan) (refuse string) {
	var w wanted
	w.target, w.records = r.target(r.focus)
	w.by, _ = r.target(r.shape.by)
	w.measured, _ = r.target(r.measured)
	if refuse = r.conditions(p, w.target, w.by, w.measured); refuse == "" {
		refuse = makers[r.intent](r, p, w)
	}
	return cmp.Or(refuse, r.doubts(p))
}

// makers set the plan for an intent; they return the reason of a refusal.
var makers = map[intent]func(reading, *plan, wanted) (refuse string){
	count: reading.countPlan, distinct: reading.countPlan,
	list: reading.groupPlan, breakdown: reading.groupPlan, top: reading.groupPlan,
	share: reading.goalPlan, all: reading.goalPlan, yesno: reading.goalPlan,
	compare: reading.comparePlan, metric: reading.metricPlan,
}

// target returns the target of a phrase: the field named by its last understood word, or
// the records of the array.
func (r reading) target(of span) (f *field, records bool) {
	for i := of[1] - 1; i >= of[0]; i-- {
		if m, ok := r.at(i, asField, asNumber); ok && (m.whole >= 0.6 || m.plain && m.whole >= 0.4 || m.whole >= 0.3 && r.is(i, measures)) {
			return m.field, false
		}
		if _, ok := r.at(i, asArray, asGeneric, asValue); ok {
			return nil, true
		}
	}
	return nil, false
}

// conditions sets the conditions on the records, except on the fields that the question
// asks for.
func (r reading) conditions(p *plan, asked ...*field) (refuse string) {
	for _, m := range r.matches {
		c, ok := r.condition(m)
		if !ok || m.role == asField && slices.Contains(asked, m.field) && !(r.intent.conditional() && (m.field.flag() || r.intent != count)) {
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
				return "I cannot tell two things of " + c.field.name() + " at a time; please ask for one of them."
			}
		}
	}
	slices.SortStableFunc(p.conds, func(x, y cond) int { return cmp.Compare(x.end(), y.end()) })
	return ""
}

// on reports whether the plan has a condition on f.
func (p plan) on(f *field) bool {
	return slices.ContainsFunc(slices.Concat(p.conds, p.goals), func(c cond) bool { return c.field == f })
}

// takeGoal makes a goal of the last shown condition, so that the result has its opposite
// too.
func (p *plan) takeGoal() {
	for i, c := range slices.Backward(p.conds) {
		if c.shown {
			p.setAside(i)
			return
		}
	}
}

// setAside makes a goal of the condition at i.
func (p *plan) setAside(i int) {
	p.goals = []cond{p.conds[i]}
	p.conds = slices.Delete(p.conds, i, i+1)
}

// countPlan counts records or distinct values, or adds numbers.
func (r reading) countPlan(p *plan, w wanted) string {
	f := w.target
	p.intent = count
	switch {
	case w.records && r.intent == distinct && len(p.conds) == 0 && p.array.identity() != nil:
		p.intent, p.group = distinct, p.array.identity()
	case w.records, f != nil && (p.on(f) || f.flag()), f == nil && len(p.conds) > 0 && !r.unknown(r.focus):
		p.takeGoal()
	case f == nil || f.has("array") || f.has("object"):
		return r.notFound(r.focus)
	case r.intent == count && f.sums():
		p.intent, p.metric, p.measure = metric, "sum", f
	default:
		p.intent, p.group = distinct, f
	}
	return ""
}

// groupPlan groups by a field, lists values or records, or ranks them by count or measure.
func (r reading) groupPlan(p *plan, w wanted) string {
	if r.intent == list && w.target != nil && (p.on(w.target) || w.target.flag()) {
		w.target, w.records = nil, true
	}
	extreme := "max"
	if r.least {
		extreme = "min"
	}
	next, two := r.at(r.shape.by[1]+1, asField)
	p.group = cmp.Or(w.by, w.target)
	switch {
	case r.bare && (!w.records || len(p.conds) == 0):
		return unclearQuestion
	case two && w.by != nil && next.field != w.by && r.q[r.shape.by[1]].low == "and":
		return "I cannot tell the figures by two fields at a time; please ask by one of them."
	case r.intent == top && w.measured != nil && w.measured != w.target && w.measured.numeric():
		p.measure, p.group, p.metric = w.measured, cmp.Or(w.target, p.array.identity()), cmp.Or(p.metric, extreme)
		if w.target != nil && r.amount && r.metric == "" {
			p.metric = "sum"
		}
	case r.intent == top && w.records && w.by != nil && w.by.numeric():
		p.measure, p.group, p.metric = w.by, p.array.identity(), extreme
	case r.intent == breakdown && w.by == nil && r.unknown(r.shape.by):
		return r.notFound(r.shape.by)
	case r.intent == breakdown && w.by == nil && !r.shape.by.empty():
		return r.countPlan(p, w) // "made by Philips"
	case r.intent == list && p.group == nil && (w.records || len(p.conds) > 0 && !r.wants(r.focus)):
		p.group, p.names = p.array.identity(), true
	}
	if p.group == nil && (len(p.conds) == 0 || r.intent != breakdown && !p.names) {
		return r.notFound(r.shape.by, r.focus)
	} else if p.group == nil {
		p.intent = count
	}
	return ""
}

// goalPlan separates goals from conditions: goals follow the verb or, without one, come
// last.
func (r reading) goalPlan(p *plan, _ wanted) string {
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

func (r reading) comparePlan(p *plan, _ wanted) string {
	for _, m := range r.matches {
		if m.role == asField && m.field.numeric() && r.wants(m.span()) {
			return "I cannot compare by " + m.field.name() + "; please ask for the figure of each."
		}
	}
	i := slices.IndexFunc(p.conds, func(c cond) bool { return len(c.values) > 1 })
	if i < 0 {
		return "I see no two values of one field to compare."
	}
	p.group = p.conds[i].field
	if p.intent = breakdown; !r.each {
		p.intent = compare
		p.setAside(i)
	}
	return ""
}

func (r reading) metricPlan(p *plan, w wanted) string {
	how, _ := find(r.q, 0, "how")
	if w.target == nil && (how < 0 || !w.records) {
		for _, m := range r.matches { // "what did the jobs cost in total"
			if m.role == asField && m.field.numeric() && m.field != w.by && !p.on(m.field) && (w.records || !r.wants(r.focus)) {
				w.target = m.field
			}
		}
	}
	switch {
	case w.target == nil && w.records && p.metric == "sum" && how < 0:
		p.intent, p.metric = count, ""
		p.takeGoal()
	case w.target != nil && w.target.numeric():
		p.measure, p.group = w.target, w.by
	default:
		return r.notFound(r.focus)
	}
	return ""
}

// unknown reports whether the noun of the phrase is unexplained.
func (r reading) unknown(of span) bool {
	return !of.empty() && r.by[of[1]-1] < 0 && !r.q[of[1]-1].stop
}

// wants reports whether the phrase has content words.
func (r reading) wants(of span) bool {
	return slices.ContainsFunc(r.q[of[0]:max(of[0], of[1])], word.content)
}
