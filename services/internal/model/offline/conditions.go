package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
)

// cond is a condition on the records.
type cond struct {
	field  *field
	filter string         // as in a call
	phrase string         // in Markdown: "site = Oslo"
	values []estate.Value // of an equality
	denied bool
	parts  int  // the number of equalities that the condition merges
	set    bool // whether there is a value
	partly bool // the question contains only a part of the value
	period bool // the value is in one period of time
	span        // the words that state it
}

func raw(v any) string {
	text, _ := json.Marshal(v) // the values are strings and maps of them
	return string(text)
}

// newCond returns a condition with a filter; relation is its phrase after the field.
func newCond(f *field, filter, relation string, at span) cond {
	return cond{field: f, filter: filter, phrase: f.name() + " " + relation, span: at}
}

// equal selects records with one of the values or, if denied, with none of them.
func equal(f *field, values []estate.Value, denied bool, at span) cond {
	filter, is, not := string(values[0].JSON()), "=", "≠"
	if len(values) > 1 {
		filter = oneOfValues(values)
	}
	if f.listed() {
		filter, is, not = `{"contains":`+filter+`}`, "contains", "does not contain"
	}
	if denied && len(values) == 1 && !f.listed() {
		filter, is = `{"ne":`+filter+`}`, not
	} else if denied {
		filter, is = `{"not":`+filter+`}`, not
	}
	c := newCond(f, filter, is+" "+listing(texts(values), 8, " or "), at)
	c.values, c.denied, c.parts = values, denied, 1
	return c
}

// oneOfValues returns the filter for one of the values.
func oneOfValues(values []estate.Value) string {
	operands := mapped(values, func(v estate.Value) string { return string(v.JSON()) })
	return `{"in":[` + strings.Join(operands, ",") + `]}`
}

// present selects records with a value, or those where the field is missing, null or empty.
func present(f *field, want bool, at span) cond {
	empty := mapped(f.blanks(), func(v estate.Value) string { return string(v.JSON()) })
	if f.has("array") {
		empty = append(empty, "[]")
	}
	filter := `{"ne":null}`
	if len(empty) > 0 {
		filter = `{"ne":null,"not":{"in":[` + strings.Join(empty, ",") + `]}}`
	}
	c := newCond(f, filter, "is set", at)
	if !want {
		c = newCond(f, `{"not":`+filter+`}`, "is not set", at)
	}
	c.set = true
	return c
}

// isTrue selects records where the field is true, or where it is not.
func isTrue(f *field, want bool, at span) cond {
	hasFalse := slices.ContainsFunc(f.column().Values, func(v estate.Value) bool { return v.Text == "false" })
	if !want && !hasFalse {
		return newCond(f, `{"ne":true}`, "≠ true", at)
	}
	return newCond(f, strconv.FormatBool(want), "= "+strconv.FormatBool(want), at)
}

var signs = map[string]string{
	"gt": ">", "gte": "≥", "lt": "<", "lte": "≤", "eq": "=", "start": "starts with", "end": "ends with", "contain": "contains",
}

// compared returns the condition f op lo, or lo ≤ f ≤ hi if hi is set, for numbers.
func compared(f *field, op, lo, hi string, at span) cond {
	switch {
	case hi != "":
		return newCond(f, fmt.Sprintf(`{"gte":%s,"lte":%s}`, lo, hi), "from "+lo+" to "+hi, at)
	case op == "eq":
		return newCond(f, lo, "= "+lo, at)
	}
	return newCond(f, fmt.Sprintf("{%q:%s}", op, lo), signs[op]+" "+lo, at)
}

// after returns an exclusive upper bound of the period as a string.
func after(date string) string { return date[:len(date)-1] + string(date[len(date)-1]+1) }

// dated returns the condition on a field of dates. A literal denotes a period: "> 2026" starts after its end. Dates that do not compare as
// strings are selected by their values.
func dated(f *field, op, lo, hi string, at span) (cond, string) {
	if lo == "" || lo[0] == '-' || strings.HasPrefix(hi, "-") {
		return cond{}, "Name the year of " + f.name() + "."
	}
	relation := signs[op] + " " + lo
	bounds := map[string][2]string{"eq": {lo, after(lo)}, "gt": {after(lo), ""}, "gte": {lo, ""}, "lt": {"", lo}, "lte": {"", after(lo)}}[op]
	if hi != "" {
		relation, bounds[1] = "from "+lo+" to "+hi, after(hi)
	} else if op == "eq" && len(lo) < len("2026-05-31") {
		relation = "in " + lo
	}
	from, to := bounds[0], bounds[1] // inclusive, exclusive
	var within []estate.Value
	ordered := true
	for _, v := range f.column().Values {
		if v.Text == "" { // not set
			from = cmp.Or(from, "0")
			continue
		}
		date := isoTime(v.Text)
		ordered = ordered && date == v.Text
		if date == "" {
			return cond{}, f.name() + " has values that are not dates, such as " + markdown.Escape(v.Text) + "."
		}
		if date >= from && (to == "" || date < to) {
			within = append(within, v)
		}
	}
	filter := map[string]string{"gte": from, "lt": to}
	maps.DeleteFunc(filter, func(_, bound string) bool { return bound == "" })
	switch {
	case ordered:
		c := newCond(f, raw(filter), relation, at)
		c.period = op == "eq" && hi == ""
		return c, ""
	case len(within) > fewValues || len(f.column().Values) < f.column().Distinct:
		return cond{}, f.name() + " has too many different dates in that period."
	}
	return newCond(f, oneOfValues(within), relation, at), ""
}

// nearest returns the link to a field that an operand is compared with: before or within the comparison, or after it; nil if there is
// none.
func nearest(r *reading, c comparison, fits func(*field) bool) (best *link) {
	nearest := 8 // words
	for _, l := range r.links {
		distance, behind := max(c.at-l.end(), l.start()-c.end), l.start() >= c.end
		operator := l.start() >= c.at && l.end() <= c.end && r.is(l.start(), "before|after|since|until|from|by") // not best_before
		if weak := !l.plain && l.whole < 0.4; l.role == asField && !operator && !weak && fits(l.field) && distance < nearest &&
			!(behind && c.op == "eq" && distance > 0) {
			best, nearest = l, distance
		}
	}
	return best
}

// comparisonConditions returns the conditions of the comparisons; declined is a reason to decline.
func comparisonConditions(r *reading) (out []cond, declined string) {
	for i, c := range r.compared {
		var one cond
		switch {
		case c.peer && i > 0 && r.compared[i-1].end == c.at && !r.compared[i-1].peer:
			return nil, "Differences are not compared." // "5 more A than B"
		case c.peer:
			one = peerCondition(r, c)
		case i > 0 && r.compared[i-1].op != "eq" && c.op == "eq" && r.is(c.at-1, "or|and") && r.at(c.end-1, asValue) == nil:
			return nil, "It is unclear whether " + quoted(signs[r.compared[i-1].op]) + " applies to " + markdown.Escape(c.lo.text) + " too."
		case r.at(c.end-1, asValue, asArray) != nil || c.lo.number != "" && r.used[c.end-1]:
		case textOperators[c.op]:
			one, declined = textCondition(r, c)
		default:
			one, declined = literalCondition(r, c)
		}
		switch k := r.neg[max(one.span[0], c.at)] - 1; {
		case declined != "":
			return nil, declined
		case one.field == nil:
			continue
		case c.peer:
		case k >= 0 && k < c.at:
			return nil, "The negation is ambiguous."
		default:
			mark(r.used, c.at, c.end)
		}
		out = append(out, one)
	}
	return out, ""
}

// peerCondition compares two fields: "more A than B", "A exceeds B".
func peerCondition(r *reading, c comparison) cond {
	var left, right *link
	for _, l := range r.links {
		switch {
		case l.role != asField || !l.field.numeric() && !l.field.dates():
		case l.start() < c.end && (left == nil || l.start() > left.start()):
			left = l
		case l.start() >= c.end && (right == nil || l.start() < right.start()):
			right = l
		}
	}
	if left == nil || right == nil || left.field == right.field || left.field.numeric() != right.field.numeric() {
		return cond{}
	}
	r.markUsed(left)
	r.markUsed(right)
	mark(r.used, c.at, c.at+1)
	mark(r.used, c.end-1, c.end)
	filter := fmt.Sprintf(`{%q:{"field":%s}}`, c.op, raw(right.field.path))
	return newCond(left.field, filter, signs[c.op]+" "+right.field.name(), span{left.start(), right.end()})
}

// textCondition selects records whose text starts with, ends with or contains a text. A text in lower case matches any case.
func textCondition(r *reading, c comparison) (cond, string) {
	f := r.array.identity()
	if l := nearest(r, c, func(f *field) bool { return f.textual() || f.listed() }); l != nil {
		f = l.field
		r.markUsed(l)
	}
	if f == nil || !f.textual() && c.op != "contain" {
		return cond{}, "It is unclear which field to compare with the text."
	}
	relation, at := signs[c.op]+" "+markdown.Escape(c.lo.raw), span{c.at, c.end}
	if f.listed() || c.op == "contain" && c.lo.raw != strings.ToLower(c.lo.raw) {
		return newCond(f, `{"contains":`+raw(c.lo.raw)+`}`, relation, at), ""
	}
	test := map[string]func(s, part string) bool{"start": strings.HasPrefix, "end": strings.HasSuffix, "contain": strings.Contains}[c.op]
	var found []estate.Value
	for v := range until(r.array.ctx, f.column().Values) {
		if v.Type == "string" && test(strings.ToLower(v.Text), strings.ToLower(c.lo.raw)) {
			found = append(found, v)
		}
	}
	if len(found) > fewValues || len(f.column().Values) < f.column().Distinct {
		return cond{}, quoted(c.lo.raw) + " matches too many values of " + f.name() + "."
	}
	return newCond(f, oneOfValues(found), relation, at), ""
}

func literalCondition(r *reading, c comparison) (cond, string) {
	at, unit := span{c.at, c.end}, units[r.low(c.end)]
	var f *field
	switch l := nearest(r, c, func(f *field) bool { return f.compares(c) }); {
	case l != nil && !(unit != "" && l.field.unit() == "" && r.used[l.start()]): // not "8 cpus or 64 GB"
		f = l.field
		r.markUsed(l)
	case c.lo.date != "" && (c.op != "eq" || c.at < c.end-1):
		f = r.only(func(f *field) bool { return f.dates() || c.lo.number != "" && f.years() })
	case unit != "":
		f = r.only(func(f *field) bool { return f.numeric() && f.unit() == unit })
	}
	isDate := f != nil && f.dates()
	over := func(v estate.Value) bool { n, _ := strconv.ParseFloat(v.Text, 64); return n > 1 }
	if unit != "" && r.is(c.at-1, "last|past|next|previous") { // "in the last 30 days"
		return cond{}, "Periods that depend on the current time are not supported."
	}
	switch {
	case f == nil && c.op == "eq":
		return cond{}, "" // an unexplained word
	case f == nil:
		return cond{}, "It is unclear which field to compare with " + markdown.Escape(c.lo.text) + "."
	case !isDate && (unit != "" || r.is(c.at, "older|younger")) && f.years() && c.lo.date == "": // "older than 10 years"
		return cond{}, "Ages are not computed from " + f.name() + "."
	case !isDate && unit != "" && f.unit() != "" && f.unit() != unit,
		unit == "percent" && f.unit() == "" && !slices.ContainsFunc(f.column().Values, over):
		return cond{}, "The unit " + markdown.Escape(r.low(c.end)) + " cannot be converted to the unit of " + f.name() + "."
	case c.hi.raw != "" && (isDate && c.hi.date == "" || !isDate && c.hi.number == ""):
		return cond{}, "The range for " + f.name() + " is incomplete."
	case isDate:
		return dated(f, c.op, c.lo.date, c.hi.date, at)
	case oneOf(c.lo.low, "once|twice") || r.is(c.end, "times"):
		mark(r.used, c.end, c.end+1)
	}
	return compared(f, c.op, c.lo.number, c.hi.number, at), ""
}

// setConditions sets the plan's conditions, except on the fields that the question asks for.
func setConditions(r *reading, p *plan, targets ...*field) string {
	all, declined := comparisonConditions(r)
	for _, l := range r.links {
		if l.role == asValue {
			c := equal(l.field, l.values, l.denied != r.deny(l.start()), l.span())
			c.partly = l.whole < 1
			all = append(all, c)
		}
	}
	for _, l := range r.links {
		if declined != "" {
			return declined
		}
		if l.role != asField || stateOf(r, l) || r.used[l.start()] || l.whole < 0.5 || r.op == compare && l.field.numeric() ||
			slices.Contains(targets, l.field) && !(r.op.conditional() && l.field.isBool()) {
			continue
		}
		k := r.neg[l.start()] - 1
		if named := func(c cond) bool { return c.field == l.field && (k < 0 || r.used[k]) }; slices.ContainsFunc(all, named) {
			continue
		}
		always := l.field.filled() == l.field.column().Records && !l.field.has("array") && len(l.field.blanks()) == 0
		v := r.at(l.start()-1, asValue)
		switch c := stateCondition(r, l); {
		case c.field == nil:
		case c.values == nil && inverted(r, l.field):
			return "The use of field " + l.field.name() + " was not understood."
		case v != nil && v.field != l.field && c.values == nil && !l.field.isBool():
			return fmt.Sprintf("%s was not understood: %s and %s are different fields.", quoted(r.text(span{v.start(), l.end()})),
				v.field.name(), l.field.name())
		case c.set && always && c.filter != `{"ne":null}`:
			return "All " + r.array.noun(2) + " have a value of " + l.field.name() + "; ask about a value."
		case c.set && always: // "an oral exam"
			r.markUsed(l)
		default:
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(x, y cond) int { return cmp.Compare(x.span[1], y.span[1]) })
	return cmp.Or(declined, joinConditions(r, p, all))
}

// stateCondition returns the condition of a field that is named without a value: a boolean, or a value that is present or absent. It is
// empty if there is none.
func stateCondition(r *reading, l *link) cond {
	f, low := l.field, r.low(l.start())
	denied := l.denied != r.deny(l.start())
	off := f.isBool() && deactivated(r, l)
	zero := slices.ContainsFunc(f.column().Values, func(v estate.Value) bool { return v.Text == "0" })
	yes, no := f.booleanValues()
	switch {
	case f.isBool() && l.whole <= 0.5 && strings.HasSuffix(low, "ed") && !f.named(low):
		return cond{} // "renewed" is not auto_renew
	case f.isBool():
		return isTrue(f, denied == off, l.span())
	case yes != nil:
		return equal(f, ternary(denied != deactivated(r, l), no, yes), false, l.span())
	case f.numeric() && denied && r.is(r.neg[l.start()]-1, "of|than|from"):
		return cond{} // "out of warranty"
	case f.dates() && strings.HasSuffix(low, "ed") && f.named(low) && f.optional() && r.is(l.start()-1, "was|were"):
		return present(f, !denied, l.span())
	case f.dates() && strings.HasSuffix(low, "ed") && !f.named(low) && (!denied || r.is(r.neg[l.start()]-1, "not")), // "have expired"
		f.sums() && f.optional() && zero && denied: // 0, or no value
		return cond{}
	case f.sums() && !f.optional() && denied:
		return compared(f, "eq", "0", "", l.span())
	case f.sums() && (zero || !f.optional()) && r.hasPossessive(l):
		return compared(f, "gt", "0", "", l.span())
	case denied || r.hasPossessive(l):
		return present(f, !denied, l.span())
	}
	return cond{}
}

// deactivated reports whether the property of the link is "disabled" or "off", by the words after it, and marks the word as explained.
func deactivated(r *reading, l *link) bool {
	i := l.end()
	for r.is(i, "been|set|to|turned|switched") || r.is(i, auxiliaries) && !r.hasPossessive(l) {
		i++
	}
	off := r.is(i, "disabled|off|unset|deactivated") && !r.q[i].brk && (i == l.end() || r.at(i, asField, asValue) == nil)
	if off {
		mark(r.used, i, i+1)
	}
	return off
}

// stateOf reports whether the word of the link is the state of the field before it, as in "have logging disabled" beside a field enabled,
// and marks the word as explained.
func stateOf(r *reading, l *link) bool {
	before := r.at(l.start()-1, asField)
	if before == nil || before.field == l.field || !before.field.isBool() || r.q[l.start()].brk ||
		!r.is(l.start(), "enabled|disabled|on|off|active|inactive") {
		return false
	}
	r.markUsed(l)
	return true
}

// inverted reports whether the name of the field has a negation that the question does not contain: mfa_disabled, never_expires.
func inverted(r *reading, f *field) bool {
	return f.isBool() && slices.ContainsFunc(f.words, func(low string) bool {
		same := func(w word) bool { return w.low == low }
		return oneOf(low, "disabled|never|not|no|non|without|disallowed|inactive|off") && !slices.ContainsFunc(r.q, same)
	})
}

// joinConditions merges conditions on the same field, and joins alternatives: conditions before the noun hold in all of them.
func joinConditions(r *reading, p *plan, all []cond) string {
	for i, c := range all {
		last := len(p.all) - 1
		if last < 0 {
			p.all = append(p.all, c)
			continue
		}
		before := all[i-1]
		or, _ := find(r.q[:max(c.span[0], before.span[1])], before.span[1], "or")
		mark(r.used, or, or+1)
		// "not female lions" are the others, "not lost or fragile" is neither
		together := r.neg[c.span[0]] > 0 && r.neg[c.span[0]] == r.neg[before.span[0]] && c.field != before.field
		either, k := (or >= 0) != together, slices.IndexFunc(p.all, func(o cond) bool { return o.field == c.field })
		adjacent := k >= 0 && k == last && p.any == nil
		switch {
		case c.field.dates() && c.values == nil && !c.set && before.span[1] == c.span[0] && r.neg[before.span[0]] > 0: // "not read in April"
			return "The negation is ambiguous."
		case adjacent && mergeable(p.all[k], c):
			p.all[k] = merged(p.all[k], c)
		case either && p.any == nil && (last == 0 || p.all[last-1].span[1] < r.focus[1] && p.all[last].span[0] >= r.focus[1]):
			p.any, p.all = [][]cond{{p.all[last]}, {c}}, p.all[:last]
		case either || len(p.any) > 1:
			return "The combination of conditions is ambiguous."
		case k < 0:
			p.all = append(p.all, c)
		case p.any != nil || (c.exact() || p.all[k].exact()) && !c.field.listed():
			return "Two conditions on " + c.field.name() + " cannot be combined; ask about one."
		default:
			p.any = [][]cond{{c}}
		}
	}
	several := func(c cond) bool { return len(c.values) > 1 || len(p.conds()) > 1 && !c.denied }
	if i, j := find(r.q, 0, "both|either"); slices.ContainsFunc(p.conds(), several) {
		mark(r.used, i, j)
	}
	return ""
}

// exact reports whether the condition holds for certain values only, not for a range.
func (c cond) exact() bool { return c.values != nil || c.period || !strings.HasPrefix(c.filter, "{") }

// mergeable reports whether two equalities on a field of one value select the records with either value.
func mergeable(a, b cond) bool {
	return a.values != nil && b.values != nil && !a.field.listed() && a.denied == b.denied
}

func merged(a, b cond) cond {
	values := slices.Clone(a.values)
	for _, v := range b.values {
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	c := equal(a.field, values, a.denied, span{min(a.span[0], b.span[0]), b.span[1]})
	c.parts, c.partly = a.parts+b.parts, a.partly || b.partly
	return c
}
