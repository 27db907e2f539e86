package offline

import (
	"cmp"
	"slices"
)

func (b *builder) countPlan(p *plan, target *field, records bool) {
	if b.headless() {
		p.refuse = b.notThere(b.s.focus)
		return
	}
	if slices.ContainsFunc(p.conds, func(c cond) bool { return c.field == target }) {
		target, records = nil, true // "projects" that are "graduated", both in one field
	}
	switch {
	case target != nil && target.flag() || records || p.presence() != nil:
		p.intent = count
	case target != nil && target.numeric() && b.s.intent == count:
		p.intent, p.metric = metric, "sum:"+target.path
	case target != nil && (target.has("array") || target.has("object")):
		p.refuse = b.notThere(b.s.focus)
		return
	case target != nil:
		p.intent, p.group = distinct, target
	case records, len(p.conds) > 0 && !b.asksWords(b.s.focus):
		p.intent = count
	default:
		p.refuse = b.notFound(b.s.focus)
		return
	}
	if p.intent == count {
		p.takeGoal()
	}
	if id := p.array.identity(); b.s.intent == distinct && p.intent == count && p.goal == nil && id != nil && id.column().distinct < id.column().records {
		p.intent, p.group = distinct, id // records that share a name are not different ones
	}
}

// notByField mends a breakdown whose "by" names no field: "made by Philips" is a
// condition, "by continent" cannot be answered.
func (b *builder) notByField(p *plan, target *field, records bool) {
	for i := b.s.by[0]; i < b.s.by[1]; i++ {
		if m, ok := b.r.at(i, asValue, asField); (!ok || m.role == asField && !p.uses(m.field)) && !b.q[i].stop && !fillers[b.q[i].low] {
			p.refuse = b.notFound(b.s.by)
			return
		}
	}
	if how, _ := find(b.q, 0, "how many"); how >= 0 {
		b.countPlan(p, target, records)
	}
}

// byTwo says whether a second field follows the one to count by.
func (b *builder) byTwo() bool {
	i := b.s.by[1]
	if i == 0 || i+1 >= len(b.q) || b.q[i].low != "and" {
		return false
	}
	_, ok := b.r.at(i+1, asField)
	return ok
}

// asksWords says whether the phrase has words that carry meaning.
func (b *builder) asksWords(span [2]int) bool {
	for i := span[0]; i < span[1]; i++ {
		if t := b.q[i]; !t.stop && !fillers[t.low] {
			return true
		}
	}
	return false
}

// asksAmount says whether "how much" or "how long" is asked, not a sum.
func (b *builder) asksAmount() bool {
	i, _ := find(b.q, 0, "how")
	return i >= 0
}

// headless says whether nothing explains the noun that is counted: the words of
// the phrase before its first verb.
func (b *builder) headless() bool {
	nouns := 0
	for i := b.s.focus[0]; i < b.s.focus[1]; i++ {
		t := b.q[i]
		if explained(b.r, i) {
			return false
		}
		if fillers[t.low] && !genericNouns[t.stem] {
			break
		}
		nouns++
	}
	return nouns > 0
}

// takeGoal sets the last condition on presence or a flag aside, so that the
// result shows it beside its opposite.
func (p *plan) takeGoal() {
	for i := len(p.conds) - 1; i >= 0; i-- {
		if c := p.conds[i]; c.op == "ne" && len(c.values) > 1 || c.op == "true" || c.op == "false" || c.op == "set" || c.op == "unset" || c.op == lacks {
			p.goal, p.group = &c, c.field
			p.conds = slices.Delete(slices.Clone(p.conds), i, i+1)
			return
		}
	}
}

// presence is a condition on a field being there or not.
func (p *plan) presence() *cond {
	for i, c := range p.conds {
		if c.op == "set" || c.op == "unset" {
			return &p.conds[i]
		}
	}
	return nil
}

func (b *builder) listPlan(p *plan, target *field, records bool) {
	if target != nil && slices.ContainsFunc(p.conds, func(c cond) bool { return c.field == target && len(c.values) < 2 }) {
		target, records = nil, true
	}
	if target != nil && b.s.person && (target.dated() || target.numeric()) {
		p.refuse = "The data does not contain who that is."
		return
	}
	if target != nil && !target.flag() {
		p.group = target
		return
	}
	if b.s.focus[0] < b.s.focus[1] && target == nil && !records {
		p.refuse = b.notFound(b.s.focus)
		return
	}
	if f := b.anyField(p.conds); f != nil && !records {
		p.group = f
		return
	}
	p.group, p.names = p.array.identity(), true
	if p.group == nil {
		p.intent = count
	}
}

func (b *builder) breakdownPlan(p *plan) {
	if p.group == nil {
		for _, c := range p.conds {
			if len(c.values) > 1 {
				p.group = c.field
			}
		}
	}
	if p.group == nil && len(p.conds) > 0 && b.s.by[1] == 0 {
		p.intent = count
		return
	}
	if p.group == nil {
		p.refuse = b.notFound(b.s.by, b.s.focus)
	}
}

func (b *builder) topPlan(p *plan, target *field, records bool) {
	measured, _ := b.target(b.s.measured)
	if measured != nil && measured != target && measured.numeric() {
		p.group = cmp.Or(target, p.array.identity())
		p.metric = b.ranked(target) + ":" + measured.path
		p.conds = slices.DeleteFunc(slices.Clone(p.conds), func(c cond) bool { return c.field == measured && c.op == "set" })
		return
	}
	if target != nil && target.numeric() && b.s.focus == b.s.measured && !b.s.common && p.topN == 0 {
		p.intent, p.metric = metric, b.ranked(nil)+":"+target.path
		return
	}
	p.group = target
	if target == nil && b.s.by[1] > 0 {
		p.group, _ = b.target(b.s.by)
	}
	if records && p.group != nil && p.group.numeric() && !b.s.common && p.array.identity() != nil {
		p.metric = b.ranked(nil) + ":" + p.group.path
		p.group = p.array.identity()
	}
	if p.group == nil {
		p.refuse = b.notFound(b.s.focus)
	}
}

// ranked is the metric by which groups are ranked: the role with the most
// memory is that whose hosts have it together.
func (b *builder) ranked(by *field) string {
	switch {
	case b.s.metric != "":
		return b.s.metric
	case by != nil && b.s.amount:
		return "sum"
	case b.s.least:
		return "min"
	}
	return "max"
}

// goalPlan separates what is asked (the condition said last) from the records
// of which it is asked.
func (b *builder) goalPlan(p *plan) {
	if len(p.conds) == 0 {
		if b.s.intent == yesno && b.anyField(nil) == nil && len(b.r.unexplained(b.q, b.s)) == 0 {
			return
		}
		p.refuse = b.notFound([2]int{0, len(b.q)})
		return
	}
	if b.s.intent == yesno && p.presence() == nil {
		p.takeGoal()
		return
	}
	slices.SortStableFunc(p.conds, func(x, y cond) int { return cmp.Compare(x.at, y.at) })
	if among, _ := find(b.q, 0, "among|amongst|within"); among >= 0 && b.s.intent == share {
		i := slices.IndexFunc(p.conds, func(c cond) bool { return c.at > among })
		if i > 0 {
			p.conds = slices.Concat(p.conds[i:], p.conds[:i])
		}
	}
	last := len(p.conds) - 1
	goal := p.conds[last]
	p.goal, p.group = &goal, goal.field
	p.conds = p.conds[:last]
	if verb := b.verb(); b.s.intent == share {
		i := slices.IndexFunc(p.conds, func(c cond) bool { return c.at > verb })
		if i >= 0 {
			p.also, p.conds = p.conds[i:], p.conds[:i]
		}
	}
}

// verb is where the records asked about end and what is asked of them begins.
func (b *builder) verb() int {
	for i := b.s.focus[0]; i < len(b.q); i++ {
		if oneOf(b.q[i].low, "is|are|was|were|have|has|do|does|run|runs|running|use|uses|using|sit|sits|come|comes|live|lives|belong|belongs|carry") {
			return i
		}
	}
	return len(b.q)
}

func (b *builder) comparePlan(p *plan) {
	for i, c := range p.conds {
		if len(c.values) > 1 {
			p.pick, p.group = c.values, c.field
			p.conds = slices.Delete(slices.Clone(p.conds), i, i+1)
			if b.s.each {
				p.intent = breakdown
				p.conds = append(p.conds, c)
			}
			return
		}
	}
	p.refuse = "I see no two values of one field to compare."
}

func (b *builder) metricPlan(p *plan, target, by *field) {
	_, records := b.target(b.s.focus)
	switch {
	case records && by != nil && by.numeric() && (b.s.metric == "max" || b.s.metric == "min"):
		p.intent, p.least = top, b.s.metric == "min"
		p.group, p.metric = p.array.identity(), b.s.metric+":"+by.path
		return
	case records && b.s.metric == "sum" && !b.asksAmount():
		p.intent = count
		p.takeGoal()
		return
	case target == nil:
		p.refuse = b.notFound(b.s.focus)
		return
	}
	if !target.numeric() && (b.s.metric == "max" || b.s.metric == "min") && by == nil {
		p.intent, p.group, p.least = top, target, b.s.metric == "min"
		return
	}
	if !target.numeric() {
		p.refuse = b.notThere(b.s.focus)
		return
	}
	p.metric = b.s.metric + ":" + target.path
	p.group = by
}
