package offline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"cairn/services/internal/estate"
)

// planReading is a computation and the form of its answer.
type plan struct {
	op       operation
	array    *array
	all      []cond   // conditions on the records that must hold
	any      [][]cond // conjunctions of which one must hold; a single one has a second condition on a field
	goals    []cond   // share, all: further conditions, of the part
	group    *field   // by which field is counted; nil for the total alone
	metric   string   // avg, sum, min, max, p50 of measure; combine: ratio, difference
	measure  *field   // the field of metric
	other    *field   // combine: the second field
	limit    int      // top: the number of groups
	rank     int      // top: 1 for the second
	least    bool     // top: the fewest
	confirm  bool     // compare: whether the first one has more
	names    bool     // list: of records by their names
	declined string   // reason to decline; if set, other fields are invalid
}

// wanted is the target of a question's phrases.
type wanted struct {
	target, by, measured *field
	records              bool // the records themselves are the target
}

// makePlan plans a question about the arrays. A question with two interpretations of different results is declined.
func makePlan(q []word, arrays []*array, similar Similar) plan {
	s := parse(q)
	if s.op == overview {
		return plan{op: overview}
	}
	if declined := s.unsupported(); declined != "" {
		return plan{declined: declined}
	}
	r, rival := read(s, arrays, similar)
	if r.array == nil || len(r.links) == 0 {
		return plan{declined: r.unmatched()}
	}
	alternatives := r.alternatives()
	p := planReading(&r)
	if len(alternatives) > maxRivals && p.declined == "" {
		p.declined = "The question has too many ambiguous words."
	}
	if rival = cmp.Or(rival, p.counted(arrays)); rival != nil && p.declined == "" { // without an array, so that none is inspected
		return plan{declined: "The question is ambiguous: " + r.array.noun(2) + " or " + rival.noun(2) + "."}
	}
	if l, a := namesake(&r, arrays); a != nil && p.declined == "" { // "region" is site, but sites have a region
		what := ternary(l.role == asArray || l.plain, " is the name of ", " is a field of ")
		return plan{declined: quoted(r.text(l.span())) + what + a.noun(2) + ", but not of " + r.array.noun(2) + "."}
	}
	for _, l := range r.links {
		if alternatives[l] == nil || p.declined != "" {
			continue
		}
		if other := planReading(alternatives[l]); other.declined == "" && p.figures() != other.figures() {
			p.declined = quoted(r.text(l.span())) + " is ambiguous: " + l.field.name() + " or " + l.rival.field.name() + "."
		}
	}
	return p
}

// counted returns an array with the number of records of each group: zones have a number of records, of which the array of records may
// have a part; nil if there is none.
func (p plan) counted(arrays []*array) (out *array) {
	number := func(f *field) bool {
		return (f.sums() || f.has("array")) && (f.named(p.array.noun(1)) || f.named(p.array.noun(2)))
	}
	for _, a := range arrays {
		if (p.op == top || p.op == breakdown) && p.group != nil && p.measure == nil && len(p.conds()) == 0 && a != p.array &&
			slices.Contains(p.group.words, a.noun(1)) && a.first(number) != nil {
			out = a
		}
	}
	return out
}

// namesake returns a word that names another array or a field of one, if it is only linked as a synonym; nil if there is none.
func namesake(r *reading, arrays []*array) (*link, *array) {
	names := synonymous(r)
	if len(names) == 0 {
		return nil, nil
	}
	for _, a := range arrays {
		for _, p := range a.parts[:min(len(a.words), len(a.parts))] {
			if l := names[p.stem]; l != nil && (l.role == asArray || l.plain) && a != r.array {
				return l, a
			}
		}
		for f := range a.each() {
			if a == r.array || len(f.words) != 1 {
				continue
			}
			if l := names[f.parts[0].stem]; l != nil && l.role == asField && !l.plain {
				return l, a
			}
		}
	}
	return nil, nil
}

// synonymous returns the links of words that are synonyms of the names of the array and its fields, by the stem of the word.
func synonymous(r *reading) map[string]*link {
	names := map[string]*link{}
	bare := r.limit > 0 && r.measured == r.focus && r.focus[1] == len(r.q) // "the top 3 hosts"
	for _, l := range r.links {
		named := func(o *link) bool { return o.role == asArray && o.plain && o.start() < l.start() }
		switch {
		case l.role == asField && r.focus.has(l.start()) && len(l.pos) == 1 && !r.names() && r.op != aggregate && (r.op == top) == bare &&
			(bare || l.field.numeric() || r.is(l.end(), "is|are|was|were") && !r.begins("in|at|on")):
			names[r.q[l.start()].stem] = l // "which sites are active", of cells
		case l.plain || len(l.pos) > 1:
		case l.role == asField, l.role == asArray && !slices.ContainsFunc(r.links, named):
			names[r.q[l.start()].stem] = l
		}
	}
	return names
}

// figures returns the results of the plan's computation, to compare them with those of another plan.
func (p plan) figures() (out string) {
	for _, c := range p.calls(nil)[1:] {
		in := c.input
		stats, err := p.array.estate.Stats(p.array.ctx,
			estate.Query{DataKey: in.DataKey, GroupBy: estate.GroupBy{*in.GroupBy}.Named(), Filter: in.Filter, AnyOf: in.AnyOf, Metrics: in.Metrics})
		if err != nil {
			return err.Error()
		}
		stats.Note = ""
		out += raw(stats)
	}
	return out
}

// plan makes the plan of a reading.
func planReading(r *reading) plan {
	p := plan{op: r.op, array: r.array, limit: r.limit, rank: r.rank, least: r.least, confirm: r.confirm, metric: r.metric}
	if r.op == fields {
		return p
	}
	if coordinated(r) {
		return plan{declined: oneQuestion}
	}
	var w wanted
	w.target, w.records = r.target(r.focus)
	w.by, _ = r.target(r.shape.by)
	switch {
	case r.begins("when"):
		w.target = dateField(r)
	case r.begins("who") && w.target != nil && w.target.isBool(): // "who is on leave?"
		w.target, w.records = nil, true
	}
	if w.by == nil && w.target != nil && w.target.sums() && !r.shape.by.empty() && r.at(r.shape.by[0], asArray) != nil {
		w.by = p.array.identity() // "seats per venue"
	}
	if w.by != nil && (r.op == list || r.op == count) {
		shape := *r.shape
		shape.op, p.op = breakdown, breakdown
		r.shape = &shape
	}
	dropSuperlative(r)
	for i := r.measured[1] - 1; i >= r.measured[0]-2 && i >= 0; i-- { // from the words after the superlative to itself
		superlative := i < r.measured[0] && w.measured == nil && r.is(i, superlatives)
		if l := r.at(i, asField); l != nil && l.field.numeric() && (superlative || i >= r.measured[0]) {
			w.measured = l.field
		}
	}
	if p.declined = unclearTarget(r, w); p.declined == "" {
		p.declined = setConditions(r, &p, w.target, w.by, w.measured)
	}
	r.planned = true
	if planner := planners[r.op]; planner != nil && p.declined == "" {
		p.declined = planner(r, &p, w)
	}
	if p.declined == "" {
		p.declined = declineReason(r, &p)
	}
	values := p.op == list || p.op == distinct || p.op == top
	if p.declined == "" && values && len(p.group.blanks()) > 0 && p.group != p.array.identity() && !p.on(p.group) {
		p.all = append(p.all, present(p.group, true, span{})) // an empty value is none
	}
	return p
}

// dropSuperlative drops the field that a superlative names if a measure follows: "the shortest retention" is no duration.
func dropSuperlative(r *reading) {
	at := r.measured[0]
	next := r.at(at+1, asField)
	if !r.is(at, measures) || next == nil || next == r.by[at] || !next.field.numeric() || next.field.unit() == "" {
		return
	}
	r.links = slices.DeleteFunc(r.links, func(l *link) bool { return l == r.by[at] })
	r.by[at], r.used[at] = nil, true
}

// oneQuestion is the reason to decline a question for two things.
const oneQuestion = "Ask one question at a time."

// coordinated reports whether the question requests two things: "sites and hosts", "the most CPUs and memory".
func coordinated(r *reading) bool {
	for i := range r.q {
		if !r.is(i, "and") || r.at(i-1, asArray, asField) == nil {
			continue
		}
		next := i + 1
		for r.is(next, "the|a|an") {
			next++
		}
		l := r.at(next, asArray, asField)
		measures := l != nil && l.role == asField && l.field.numeric() && r.measured.has(i-1)
		if measures || r.focus.has(i-1) && (l != nil && l.role == asArray || r.is(next, "number|count")) {
			return true
		}
	}
	return false
}

// unclearTarget returns the reason to decline a question for a person, or a kind, that no field
// answers; "" if there is none.
func unclearTarget(r *reading, w wanted) string {
	switch {
	case r.begins("who") && r.op == top && (w.target == nil || w.target.numeric()) && w.by == nil:
		return "It is unclear which field answers who."
	case r.op == list && w.records && r.begins("what") && r.is(1, "is|was") && r.is(2, "the") && r.at(r.focus[1]-1, asValue) != nil:
		return "It is unclear which field answers the question." // "what is the temperature", a value
	case r.op == list && w.target == nil &&
		(r.is(0, "when") || r.is(0, "who") && !r.is(1, "is|are|was|were") || r.is(0, "what") && r.is(1, "did|do|does")):
		return "It is unclear which field answers " + r.low(0) + "."
	case r.kinds && w.records:
		return "It is unclear which kind of " + r.array.noun(2) + " is meant."
	case w.target != nil && !r.begins("when") && (w.target.dates() || r.op == top && w.target.numeric()) &&
		(r.begins("who") || r.is(r.focus[0]-1, "who") || w.target.dates() && participle(r, w.target) || w.target.dates() && r.is(r.focus[1]-1, "last|first")): // "which job ran last"
		return "The use of field " + w.target.name() + " was not understood."
	}
	return ""
}

// dateField returns the only field of dates that the question names; nil if there is none, or more.
func dateField(r *reading) *field {
	return r.only(func(f *field) bool {
		return f.dates() && slices.ContainsFunc(r.links, func(l *link) bool { return l.role == asField && l.field == f })
	})
}

// participle reports whether the question has a participle of the field of dates, which depends on the time: "have expired".
func participle(r *reading, f *field) bool {
	for i, w := range r.q {
		if strings.HasSuffix(w.low, "ed") && !f.named(w.low) && f.stemmed(w.stem) && r.is(i-1, "has|have|had|are|is|was|were") {
			return true
		}
	}
	return false
}

// planners set the plan for an operation; they return a reason to decline, or "".
var planners = map[operation]func(*reading, *plan, wanted) (declined string){
	count: countPlan, distinct: countPlan, list: groupPlan, breakdown: groupPlan,
	top: topPlan, share: goalPlan, all: goalPlan,
	exists: existsPlan, compare: comparePlan, aggregate: aggregatePlan, combine: combinePlan,
}

// on reports whether the plan has a condition on f.
func (p plan) on(f *field) bool {
	return slices.ContainsFunc(p.conds(), func(c cond) bool { return c.field == f })
}

// conds returns all conditions of the plan.
func (p plan) conds() []cond { return slices.Concat(append(p.any, p.all, p.goals)...) }

// countPlan counts records or distinct values, or adds numbers.
func countPlan(r *reading, p *plan, w wanted) string {
	f := w.target
	p.op = count
	// "zones" of a field zone are its values, "seats" of a field seats are added
	noun := r.low(r.focus[1] - 1)
	several := f != nil && r.op == count && f.sums() && !f.named("count") && f.named(singular(noun)) && !f.named(noun)
	unit := func(w word) bool { return units[w.low] == f.unit() }
	flag := f != nil && (p.on(f) && !r.comparesText() || f.isBool() || f == p.array.identity() && r.op == count)
	switch {
	case w.records && r.op == distinct && len(p.conds()) == 0 && p.array.identity() != nil:
		p.op, p.group = distinct, p.array.identity()
	case r.op == count && w.records && slices.ContainsFunc(p.array.fields(), func(f *field) bool {
		return f.numeric() && strings.EqualFold(f.path, "count") && !p.on(f)
	}):
		return "It is unclear whether to count the " + p.array.noun(2) + " or to add a field of them."
	case r.op == distinct && (f == nil || flag) && (p.array.identity() == nil || !p.array.identity().unique()):
		return "It is unclear which values of " + p.array.noun(2) + " to count."
	case w.records, flag, f == nil && len(p.conds()) > 0:
	case f == nil || f.has("array") || r.op == count && f.dates():
		return r.unmatched()
	case several && !f.categorical(), r.op == count && f.sums() && f.unit() != "" && !slices.ContainsFunc(r.q, unit): // gpus of gpu_hours
		return "It is unclear whether to count the values of " + f.name() + " or to add them."
	case r.op == count && f.sums() && !several:
		p.op, p.metric, p.measure = aggregate, "sum", f
	default:
		p.op, p.group = distinct, f
	}
	return ""
}

// groupPlan groups by a field, or lists values or records.
func groupPlan(r *reading, p *plan, w wanted) string {
	if r.op == list && w.target != nil && (p.on(w.target) && !r.comparesText() || w.target.isBool()) {
		w.target, w.records = nil, true
	}
	p.group = cmp.Or(w.by, w.target)
	identity, next := p.array.identity(), r.at(r.shape.by[1]+1, asField)
	denied := slices.ContainsFunc(p.all, func(c cond) bool { return c.denied || r.neg[c.span[0]] > 0 })
	amount := r.op == list && w.by == nil && w.target != nil && w.target.sums() && r.begins("what") && r.is(1, "is|was") && !p.on(identity)
	isSet := func(c cond) bool { return c.set || c.filter == `{"gt":0}` }
	further := slices.IndexFunc(p.conds(), isSet)
	switch {
	case r.op == list && r.begins("which") && w.by == nil && w.target != nil && w.target != identity && w.target.quantity():
		return "The use of field " + w.target.name() + " was not understood." // "which records", of the number of records
	case r.op == list && (r.has("with|and their|its") || r.begins("list|show|give|print") && further >= 0 &&
		slices.ContainsFunc(p.conds()[further+1:], isSet)): // "list the hosts with rack and owner"
		return "Listing further fields is not supported."
	case denied && p.group != nil && p.group != identity && r.has("has|have|had|with no"):
		return "Listing values of " + p.group.name() + " without " + p.array.noun(2) + " is not supported."
	case w.by != nil && w.by.sums() && (!w.by.categorical() || w.by == w.target):
		return "The use of field " + w.by.name() + " was not understood."
	case next != nil && w.by != nil && next.field != w.by && r.is(r.shape.by[1], "and"):
		return "Grouping by two fields is not supported."
	case r.op == breakdown && w.by == nil && !r.shape.by.empty():
		return countPlan(r, p, w) // "made by Philips"
	case amount && r.has("of all"):
		p.op, p.metric, p.measure, p.group = aggregate, "sum", w.target, nil
		return ""
	case amount:
		return "It is unclear whether to list the values of " + w.target.name() + " or to add them."
	case r.op == breakdown && w.by != nil && w.target != nil && w.target != w.by && w.target.sums() && !w.records && !p.on(w.target):
		p.op, p.metric, p.measure = aggregate, "sum", w.target // "clients per building"
	case r.op == list && p.group == nil && (w.records || len(p.conds()) > 0 && !r.hasContent(r.focus)):
		p.group = identity
	}
	p.names = r.op == list && p.group == identity
	switch {
	case p.group == nil && (r.op != breakdown || len(p.conds()) == 0):
		return r.unmatched()
	case p.group == nil:
		p.op = count
	}
	return ""
}

// extreme is the metric of a ranking: of the least, or of the most.
var extreme = map[bool]string{true: "min", false: "max"}

// topPlan ranks the values of a field, or the records, by count or by a measure.
func topPlan(r *reading, p *plan, w wanted) string {
	identity := p.array.identity()
	p.group, p.metric = cmp.Or(w.by, w.target), cmp.Or(r.metric, extreme[r.least])
	switch {
	case w.by != nil && w.by.numeric() && (w.records || w.target == identity) && (w.measured == nil || r.is(r.shape.by[0]-1, "by")):
		p.measure, p.group = w.by, identity
	case w.measured != nil && w.measured != w.target:
		p.measure, p.group = w.measured, cmp.Or(w.target, identity)
		if p.group != identity && r.metric == "" && r.amount {
			p.metric = "sum"
		}
	case w.target != nil && w.target.numeric() && w.by == nil && !r.amount && r.limit == 0:
		p.measure, p.group = w.target, identity // "the highest price"
	}
	for i := r.measured[0]; i < r.measured[1]; i++ {
		if l := r.at(i, asField); l != nil && l.field != p.measure && l.field != p.group && !p.on(l.field) || l != nil && l.field.has("array") {
			return "Ranking by " + l.field.name() + " is not supported."
		}
	}
	if p.measure != nil && p.measure.years() && r.is(r.measured[0], "oldest|youngest|newest") {
		p.least = r.is(r.measured[0], "oldest")
		p.metric = extreme[p.least]
	}
	return unclearRanking(r, p, w)
}

// unclearRanking returns the reason to decline a ranking; "" if there is none.
func unclearRanking(r *reading, p *plan, w wanted) string {
	identity := p.array.identity()
	other := func(l *link) bool { // "who owns the application with the most users"
		return l.role == asArray && !r.focus.has(l.start()) && r.is(l.end(), "with")
	}
	switch {
	case p.group == nil:
		return r.unmatched()
	case p.measure == nil && p.group.sums() && (r.begins("how") || r.is(r.measured[0]-1, "most|fewest|least")): // "most restarts"
		return unclearQuestion
	case p.measure != nil && p.group != identity && slices.ContainsFunc(r.links, other),
		r.is(r.focus[1], "of") && r.focus[1] < r.measured[0] && w.target != nil && w.target.numeric(): // "the price of the heaviest"
		return "Ask which of the " + p.array.noun(2) + " it is first."
	case p.measure == nil && (p.metric == "sum" || r.amount && r.measured != r.focus && !r.measured.empty() && !r.hasContent(r.measured) &&
		r.by[r.measured[0]] == nil): // "the most data", "the most total racks"
		return "It is unclear what to rank " + p.group.name() + " by."
	case p.metric == "sum" && len(p.measure.words) == 1 && p.measure.words[0] == singular(r.low(r.measured[0])) &&
		!p.measure.named(r.low(r.measured[0])):
		return "It is unclear whether to count the values of " + p.measure.name() + " or to add them."
	case p.measure != nil && r.is(r.measured[0], "oldest|newest|youngest") && !p.measure.years() && !p.measure.named("age"):
		return "Ages are not computed from " + p.measure.name() + "."
	case p.measure != nil && oneOf(p.metric, "min|max") && r.metric == "" && p.group != identity && !p.group.unique() && p.measure.sums() &&
		!r.unsummable(p.measure):
		return "It is unclear whether to add " + p.measure.name() + " for each " + p.group.name() + "."
	case p.measure == nil && (!r.amount || r.is(len(r.q)-1, "most|fewest|least") ||
		p.group == identity && (w.records && r.limit == 0 || p.group.unique() && r.limit > 0)): // records have no number
		return r.unmatched()
	}
	return ""
}

// goalPlan separates goals from conditions: goals follow the verb; without one there may be only one condition.
func goalPlan(r *reading, p *plan, _ wanted) string {
	switch {
	case p.any != nil:
		return unclearGoal
	case len(p.all) == 0:
		return r.unmatched()
	}
	first, verb := len(p.all)-1, -1
	for i := len(r.q) - 1; i >= r.focus[0]; i-- {
		if w := r.q[i]; r.by[i] == nil && (oneOf(w.low, auxiliaries+"|that|which") || verbs[w.low] || states[w.low]) {
			verb = i - r.focus[0]
		}
	}
	i := slices.IndexFunc(p.all, func(c cond) bool { return c.span[1] > r.focus[0]+verb })
	switch {
	case r.op == share && verb >= 0 && i >= 0:
		first = i
	case r.op == share && first > 0:
		return unclearGoal
	}
	for ; first > 0 && r.op == all; first-- {
		if and, _ := find(r.q[:p.all[first].span[1]], p.all[first-1].span[1], "and"); and < 0 {
			break
		}
	}
	p.all, p.goals = p.all[:first:first], p.all[first:]
	for _, c := range p.all {
		if or, _ := find(r.q[:c.span[1]], c.span[0], "or"); or >= 0 && r.op == all { // "are h1 or h2 patched"
			return unclearGoal
		}
	}
	if r.op == all && r.at(p.goals[0].span[1], asArray) != nil { // "is it patched on all Linux hosts"
		return unclearGoal
	}
	return ""
}

// existsPlan declines a question for more than the existence of a record.
func existsPlan(r *reading, p *plan, _ wanted) string {
	if i, _ := find(r.q, 0, "exactly|just"); i > 0 && !r.used[i] || r.is(1, partial) {
		return "The meaning of " + quoted(r.q[max(i, 1)].text) + " was not understood."
	}
	for i, w := range r.q {
		if metrics[w.low] != "" && r.by[i] == nil { // "is the total above 80"
			return "Ask for the figure instead."
		}
	}
	for _, c := range p.conds() {
		if and, _ := find(r.q[:c.span[1]], c.span[0], "and"); and >= 0 && c.parts > 1 { // "does Oslo have h1 and h2"
			return "Ask about one value of " + c.field.name() + " at a time."
		}
	}
	return ""
}

// comparePlan compares the records of two values by their number, or two records by a measure.
func comparePlan(r *reading, p *plan, _ wanted) string {
	i := slices.IndexFunc(p.all, func(c cond) bool { return c.parts > 1 && c.parts == len(c.values) && !c.denied && !c.field.listed() })
	if i < 0 || len(p.any) > 0 {
		return "A comparison needs two values of one field."
	}
	c := p.all[i]
	p.group = c.field
	for _, l := range r.links {
		switch {
		case l.role != asField || !l.field.numeric() || p.on(l.field) || !r.hasContent(l.span()) && !r.measured.has(l.start()):
		case p.measure != nil && p.measure != l.field || c.field.column().Distinct < c.field.filled():
			return "It is unclear how to compare " + l.field.name() + "; ask for each value separately."
		default:
			p.measure, p.metric = l.field, "max"
		}
	}
	if p.measure == nil && !r.measured.empty() && !r.amount {
		return "It is unclear which field to compare."
	}
	if p.measure != nil && p.measure.years() {
		p.least = r.is(r.measured[0], "older")
	}
	if p.op = breakdown; !r.each {
		p.op, p.goals = compare, []cond{c}
	}
	return ""
}

// aggregatePlan computes a metric of a field.
func aggregatePlan(r *reading, p *plan, w wanted) string {
	how, _ := find(r.q, 0, "how")
	if w.target == nil && (how < 0 || !w.records || r.degree) || w.target != nil && !w.target.numeric() {
		for _, l := range r.links { // "what did the jobs cost in total"
			of := r.is(l.end(), "of") && l.end() < r.focus[0] && oneOf(r.metric, "min|max") // "the price of the largest host"
			if l.role == asField && l.field.numeric() && l.field != w.by && !p.on(l.field) && !of && (w.records || !r.hasContent(r.focus)) {
				w.target = l.field
			}
		}
	}
	switch {
	case r.degree && w.target != nil && w.target.years():
		return "Ages are not computed from " + w.target.name() + "."
	case r.degree && r.metric == "sum" && !slices.ContainsFunc(p.conds(), func(c cond) bool { return c.field.unique() }):
		return "It is unclear which of the " + p.array.noun(2) + " is meant; ask for the sum or the average."
	case (w.records && how < 0 || r.rank > 0) && w.target != nil && w.target.numeric() && oneOf(r.metric, "min|max") && w.by == nil:
		// "the largest venue"
		p.op, p.measure, p.group, p.least = top, w.target, p.array.identity(), r.metric == "min"
	case w.target != nil && p.on(w.target) || w.by != nil && w.by != w.target && w.by.sums():
		return "The use of field " + cmp.Or(w.by, w.target).name() + " was not understood."
	case w.target != nil && r.is(r.focus[1]-1, "value|worth") && !w.target.named(r.low(r.focus[1]-1)):
		return "The meaning of " + quoted(r.q[r.focus[1]-1].text) + " was not understood."
	case w.target != nil && w.target.numeric():
		if p.measure = w.target; w.by != w.target { // not "price per night"
			p.group = w.by
		}
	case len(r.unexplained()) > 0:
		return r.unmatched()
	default:
		return "It is unclear which numeric field of " + p.array.noun(2) + " to aggregate."
	}
	return ""
}

// combinePlan computes the ratio or the difference of the sums of two fields.
func combinePlan(r *reading, p *plan, w wanted) string {
	p.group = w.by
	slices.SortFunc(r.links, func(a, b *link) int { return cmp.Compare(a.start(), b.start()) })
	for _, l := range r.links {
		switch {
		case l.role != asField || !l.field.numeric() || l.field == w.by || l.field == p.measure || p.on(l.field) || l.whole < 0.4:
		case p.measure == nil:
			p.measure = l.field
		case p.other == nil:
			p.other = l.field
		}
	}
	if p.measure == nil || p.other == nil {
		return "It is unclear which two numeric fields to aggregate."
	}
	for _, f := range []*field{p.measure, p.other} { // the sums are of the same records
		if f.optional() && !p.on(f) {
			p.all = append(p.all, present(f, true, span{}))
		}
	}
	return ""
}

// limits returns a field for the lowest or highest permitted value of the plan's measure, such as max_weight for the maximum of weight;
// nil if there is none.
func (p plan) limits() *field {
	if p.measure == nil || !oneOf(p.metric, "min|max") || p.measure.named(p.metric) {
		return nil
	}
	return p.array.first(func(f *field) bool {
		other := func(low string) bool { return units[low] == "" && !f.named(low) }
		return f.numeric() && (f.named(p.metric) || f.named(p.metric+"imum")) && !slices.ContainsFunc(p.measure.words, other)
	})
}

const (
	inspectSchema = "inspect_schema"
	computeStats  = "compute_stats"

	overviewArrays = 12 // number of arrays that an overview breaks down
)

// call is a tool call of a plan.
type call struct {
	tool  string
	input input
}

// input is the input of a tool; inspect_schema takes the key only.
type input struct {
	DataKey string       `json:"data_key"`
	GroupBy *string      `json:"group_by,omitempty"`
	Filter  conditions   `json:"filter,omitzero"`
	AnyOf   []conditions `json:"any_of,omitempty"`
	Metrics []string     `json:"metrics,omitempty"`
}

type conditions = estate.Filter

// filter returns conditions as in a call; they are on different fields.
func filter(conds []cond) conditions {
	out := conditions{}
	for _, c := range conds {
		out[c.field.path] = json.RawMessage(c.filter)
	}
	return out
}

// calls returns the plan's calls in order. They depend on the plan only, so that each turn of the conversation computes the same ones.
func (p plan) calls(arrays []*array) (out []call) {
	if p.op == overview {
		return mapped(arrays[:min(len(arrays), overviewArrays)], func(a *array) call {
			return plan{array: a, group: a.categoryField()}.stats()
		})
	}
	if p.array == nil {
		return nil
	}
	out = []call{{inspectSchema, input{DataKey: p.array.key}}}
	if p.declined != "" || p.op == fields {
		return out
	}
	if p.op != share && p.op != all {
		return append(out, p.stats())
	}
	part := p
	part.all = slices.Concat(p.all, p.goals)
	return append(out, p.stats(), part.stats())
}

// stats returns the call for the plan's records.
func (p plan) stats() call {
	by := ""
	if p.group != nil {
		by = p.group.path
	}
	in := input{DataKey: p.array.key, GroupBy: &by, Filter: filter(p.all), AnyOf: mapped(p.any, filter), Metrics: []string{"count"}}
	switch {
	case p.other != nil:
		in.Metrics = []string{"count", "sum:" + p.measure.path, "sum:" + p.other.path}
	case p.measure != nil:
		in.Metrics = []string{p.metric + ":" + p.measure.path}
	}
	return call{computeStats, in}
}
