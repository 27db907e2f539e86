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
	goals   []cond   // asked of them: share, all, presence
	metric  string   // avg, sum, min, max, p50 of measure
	measure *field   // the field of metric
	topN    int      // top
	least   bool     // top: the fewest
	names   bool     // list: of records by their names
	ignored []string // words that were left out of account
	rival   *field   // a field that could be meant in place of measure
	refuse  string   // why there is no answer; then nothing else counts
}

const unclearQuestion = "I cannot tell what is asked."

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
	if s.intent == fields {
		return plan{intent: fields, array: r.array}
	}
	return r.plan()
}

func (r reading) plan() plan {
	p := plan{intent: r.intent, array: r.array, topN: r.topN, least: r.least, metric: r.metric}
	target, records := r.target(r.focus)
	by, _ := r.target(r.shape.by)
	measured, _ := r.target(r.measured)
	if p.refuse = r.conditions(&p, target, by, measured); p.refuse != "" {
		return p
	}
	switch r.intent {
	case count, distinct:
		p.refuse = r.countPlan(&p, target, records)
	case breakdown:
		p.refuse = r.breakdownPlan(&p, target, by, records)
	case list:
		p.refuse = r.listPlan(&p, target, records)
	case top:
		p.refuse = r.topPlan(&p, target, by, measured, records)
	case share, all, yesno:
		p.refuse = r.goalPlan(&p)
	case compare:
		p.refuse = r.comparePlan(&p)
	case metric:
		p.refuse = r.metricPlan(&p, target, by, records)
	}
	if p.refuse == "" {
		p.refuse = r.doubts(&p)
	}
	return p
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
		isAsked := m.role == asField && slices.Contains(asked, m.field)
		if isAsked && !(r.intent.conditional() && (m.field.flag() || r.intent != count)) || m.role == asField && m.whole < 0.5 && !m.speaksFor() {
			continue
		}
		c, ok := r.condition(m)
		if !ok {
			continue
		}
		i := slices.IndexFunc(p.conds, func(o cond) bool { return o.field == c.field })
		switch {
		case i < 0:
			p.conds = append(p.conds, c)
		case m.role == asField: // its value is there already
		default:
			if p.conds[i], ok = p.conds[i].join(c); !ok {
				return "I cannot tell two things of " + c.field.path + " at a time; please ask for one of them."
			}
		}
	}
	slices.SortStableFunc(p.conds, func(x, y cond) int { return cmp.Compare(x.at, y.at) })
	return ""
}

// speaksFor says whether a part of the field's name is enough: it says yes or
// no of what the word names.
func (m match) speaksFor() bool {
	if !m.plain || m.whole < 0.25 {
		return false
	}
	yes, _ := m.field.polar()
	return yes != nil
}

// on says whether the plan has a condition on f.
func (p plan) on(f *field) bool {
	return slices.ContainsFunc(slices.Concat(p.conds, p.goals), func(c cond) bool { return c.field == f })
}

// countPlan counts records, or the values of a field, or sums its numbers.
func (r reading) countPlan(p *plan, target *field, records bool) string {
	shown := slices.IndexFunc(p.conds, func(c cond) bool { return c.shown })
	switch {
	case records, target != nil && p.on(target), shown >= 0 && (target == nil || target.flag()):
		p.intent = count
	case target == nil && (len(p.conds) == 0 || r.wants(r.focus)), target != nil && (target.has("array") || target.has("object")):
		return r.notFound(r.focus)
	case target == nil:
		p.intent = count
	case target.numeric() && r.intent == count:
		p.intent, p.metric, p.measure = metric, "sum", target
	default:
		p.intent, p.group = distinct, target
	}
	if p.intent == count {
		p.takeGoal()
		if id := p.array.identity(); r.intent == distinct && p.goals == nil && id != nil && id.column().Distinct < id.filled() {
			p.intent, p.group = distinct, id // records that share a name are not different ones
		}
	}
	return ""
}

// takeGoal sets the last condition that is shown aside, so that the result
// tells it beside its opposite.
func (p *plan) takeGoal() {
	for i := len(p.conds) - 1; i >= 0; i-- {
		if p.conds[i].shown {
			p.goals, p.conds = []cond{p.conds[i]}, slices.Delete(slices.Clone(p.conds), i, i+1)
			return
		}
	}
}

// wants says whether the phrase has words that carry meaning.
func (r reading) wants(of span) bool {
	return slices.ContainsFunc(r.q[of[0]:max(of[0], of[1])], word.content)
}

func (r reading) breakdownPlan(p *plan, target, by *field, records bool) string {
	p.group = cmp.Or(by, target)
	if !r.shape.by.empty() && by == nil {
		for i := r.shape.by[0]; i < r.shape.by[1]; i++ {
			if _, ok := r.at(i, asValue, asNumber); !ok && !r.q[i].stop {
				return r.notFound(r.shape.by)
			}
		}
		return r.countPlan(p, target, records) // "for each production host"
	}
	i := r.shape.by[1]
	if _, two := r.at(i+1, asField); two && i > 0 && r.q[i].low == "and" {
		return "I cannot tell the figures by two fields at a time; please ask by one of them."
	}
	for _, c := range p.conds {
		if p.group == nil && len(c.values) > 1 {
			p.group = c.field
		}
	}
	if p.group == nil && len(p.conds) > 0 {
		p.intent = count
	} else if p.group == nil {
		return r.notFound(r.shape.by, r.focus)
	}
	return ""
}

func (r reading) listPlan(p *plan, target *field, records bool) string {
	if _, of := find(r.q, r.focus[1], "of"); r.bare && target != nil && of > 0 {
		p.intent, p.group = breakdown, target // "tier breakdown of the volumes"
		return ""
	}
	if r.bare && (!records || len(p.conds) == 0) {
		return unclearQuestion
	}
	if target != nil && p.on(target) {
		target, records = nil, true
	}
	if target == nil && !records {
		if r.wants(r.focus) {
			return r.notFound(r.focus)
		}
		for _, m := range r.matches { // "who made them": a field named elsewhere
			if m.role == asField && !p.on(m.field) && target == nil {
				target = m.field
			}
		}
	}
	if who, _ := find(r.q, 0, "who"); who >= 0 && target != nil && (target.dated() || target.numeric()) {
		return "The data does not contain who that is."
	}
	if p.group = target; target == nil || target.flag() {
		p.group, p.names = p.array.identity(), true
	}
	if p.group == nil {
		p.intent = count
	}
	return ""
}

// topPlan ranks the values of a field by their records, or by a measure; or
// the records themselves by a measure.
func (r reading) topPlan(p *plan, target, by, measured *field, records bool) string {
	p.group = cmp.Or(target, by)
	extreme := map[bool]string{true: "min", false: "max"}[r.least]
	switch {
	case measured != nil && measured != target && measured.numeric():
		if p.measure = measured; target != nil && r.amount && p.metric == "" {
			p.metric = "sum"
		}
		p.group, p.metric = cmp.Or(target, p.array.identity()), cmp.Or(p.metric, extreme)
	case target != nil && target.numeric() && r.focus == r.measured && !r.common && p.topN == 0:
		p.intent, p.metric, p.measure, p.group = metric, cmp.Or(p.metric, extreme), target, nil
		return ""
	case records && by != nil && by.numeric() && !r.common:
		p.measure, p.metric, p.group = by, cmp.Or(p.metric, extreme), p.array.identity()
	}
	if p.group == nil {
		return r.notFound(r.focus)
	}
	return ""
}

// goalPlan separates what is asked from the records of which it is asked: what
// is said after the verb or, without one, last.
func (r reading) goalPlan(p *plan) string {
	if len(p.conds) == 0 {
		if r.intent != yesno || r.wants(r.focus) && len(r.unexplained()) > 0 {
			return r.notFound()
		}
		return ""
	}
	if r.intent == yesno {
		p.takeGoal()
		return ""
	}
	if among, _ := find(r.q, 0, "among|amongst|within"); among >= 0 {
		if i := slices.IndexFunc(p.conds, func(c cond) bool { return c.at > among }); i > 0 {
			p.conds, p.goals = p.conds[i:], p.conds[:i]
			return ""
		}
	}
	first := len(p.conds) - 1
	if verb, _ := find(r.q, r.focus[0], "is|are|was|were|have|has|do|does|run|runs|use|uses|using|sit|sits|come|comes|live|lives|belong|belongs|carry"); verb >= 0 && r.intent == share {
		if i := slices.IndexFunc(p.conds, func(c cond) bool { return c.at > verb }); i >= 0 {
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
	for i, c := range p.conds {
		if len(c.values) > 1 {
			p.goals, p.group = []cond{c}, c.field
			p.conds = slices.Delete(slices.Clone(p.conds), i, i+1)
			if r.each {
				p.intent, p.goals = breakdown, nil
				p.conds = append(p.conds, c)
			}
			return ""
		}
	}
	return "I see no two values of one field to compare."
}

func (r reading) metricPlan(p *plan, target, by *field, records bool) string {
	extreme := p.metric == "max" || p.metric == "min"
	if how, _ := find(r.q, 0, "how"); records && p.metric == "sum" && how < 0 || target == nil {
		for _, m := range r.matches { // "what did the jobs cost in total"
			if m.role == asField && m.field.numeric() && m.field != by && !p.on(m.field) && !r.focus.empty() && (records || r.focus.has(m.start()) || !r.wants(r.focus)) {
				target = m.field
			}
		}
	}
	switch {
	case records && by != nil && by.numeric() && extreme:
		p.intent, p.least, p.group, p.measure = top, p.metric == "min", p.array.identity(), by
	case target == nil && records && p.metric == "sum":
		p.intent, p.metric = count, ""
		p.takeGoal()
	case target != nil && target.numeric():
		p.measure, p.group = target, by
	case target != nil && extreme && by == nil:
		p.intent, p.group, p.least, p.metric = top, target, p.metric == "min", ""
	default:
		return r.notFound(r.focus)
	}
	return ""
}
