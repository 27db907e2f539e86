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
	conds   []cond   // all hold
	goal    *cond    // what is asked of them: share, all, presence
	also    []cond   // share: further goals
	hits    float64  // records that meet the goals, when a call of its own counts them
	metric  string   // a metric other than count, as compute_stats writes it
	topN    int      // top
	least   bool     // top: the fewest
	pick    []value  // compare: the values that were named
	ignored []string // words that were not understood
	choices []choice // fields taken where others could be meant
	refuse  string   // why there is no answer; then nothing else counts
	names   bool     // list: of records by their names
}

// cond is a condition on one field.
type cond struct {
	field  *field
	values []value // one of them, for op ""
	op     string  // "", gt, gte, lt, lte, true, false, set, unset
	num    string  // the number of gt, gte, lt, lte and eq
	until  string  // the end of during, not included
	at     int     // where in the question
}

// makePlan understands question q about the arrays.
func makePlan(q []token, arrays []*array) plan {
	s := parse(q)
	if s.intent == overview {
		return plan{intent: overview}
	}
	if !s.heard {
		return plan{refuse: unclearQuestion}
	}
	r, ok := bestReading(q, s, arrays)
	if !ok {
		return plan{refuse: missing(q, s, r)}
	}
	if s.intent == fields {
		return plan{intent: fields, array: r.array}
	}
	b := builder{q, s, r}
	p := b.plan()
	if p.refuse == "" {
		p.refuse, p.ignored = doubts(q, s, r, p)
	}
	p.choices = b.rivals(p)
	if f := p.clash(); f != nil && p.refuse == "" {
		p.refuse = "I cannot tell two things of " + f.path + " at a time; please ask for one of them."
	}
	return p
}

// builder turns one reading into a plan.
type builder struct {
	q []token
	s shape
	r reading
}

func (b *builder) plan() plan {
	p := plan{intent: b.s.intent, array: b.r.array, topN: b.s.topN, least: b.s.least}
	target, records := b.target(b.s.focus)
	by, _ := b.target(b.s.by)
	p.conds = b.conds(target, by)
	switch b.s.intent {
	case count, distinct:
		b.countPlan(&p, target, records)
	case breakdown:
		p.group = cmp.Or(by, target)
		if by == nil && b.s.by[1] > 0 {
			b.notByField(&p, target, records)
		}
		if b.byTwo() {
			p.refuse = "I cannot tell the figures by two fields at a time; please ask by one of them."
		}
	case list:
		if _, end := find(b.q, b.s.focus[1], "of"); b.s.bare && target != nil && end > 0 {
			p.intent, p.group = breakdown, target
			break
		}
		if b.s.bare && (!records || len(p.conds) == 0) {
			return plan{refuse: unclearQuestion}
		}
		b.listPlan(&p, target, records)
	case top:
		b.topPlan(&p, target, records)
	case share, all, yesno:
		b.goalPlan(&p)
	case compare:
		b.comparePlan(&p)
	case metric:
		b.metricPlan(&p, target, by)
	}
	if p.intent == breakdown && p.refuse == "" {
		b.breakdownPlan(&p)
	}
	if p.refuse == "" {
		p.refuse = b.beyond(p, by)
	}
	if p.refuse == "" && !p.complete() {
		p.refuse = b.notFound(b.s.focus)
	}
	return p
}

// complete says whether the plan has what its intent needs.
func (p plan) complete() bool {
	switch p.intent {
	case distinct, list, breakdown, top:
		return p.group != nil
	case share, all:
		return p.goal != nil
	case compare:
		return p.group != nil && len(p.pick) > 1
	case metric:
		return p.metric != ""
	}
	return true
}

// target is what a phrase asks for: the field that its last understood word
// names, or records of the array.
func (b *builder) target(span [2]int) (f *field, records bool) {
	for i := span[1] - 1; i >= span[0]; i-- {
		if m, ok := b.r.at(i, asField, asNumber); ok && (m.whole >= 0.6 || m.plain && m.whole >= 0.4) {
			return m.field, false
		}
		if _, ok := b.r.at(i, asArray, asGeneric, asValue); ok {
			return nil, true
		}
	}
	return nil, false
}

// anyField is a field that the question names and no condition uses.
func (b *builder) anyField(conds []cond) *field {
	for _, m := range b.r.matches {
		if m.role == asField && !slices.ContainsFunc(conds, func(c cond) bool { return c.field == m.field }) {
			return m.field
		}
	}
	return nil
}
