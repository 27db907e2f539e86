package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
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
	partly bool // the question contains only a part of the value
	span        // the words that state it
}

func raw(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null" // a string always encodes
	}
	return string(text)
}

// newCond returns a condition with a filter; relation is its phrase after the field.
func newCond(f *field, filter, relation string, at span) cond {
	return cond{field: f, filter: filter, phrase: f.name() + " " + relation, span: at}
}

// equal selects records with one of the values or, if denied, with none of them.
func equal(f *field, values []estate.Value, denied bool, at span) cond {
	var operands, names []string
	for _, v := range values {
		operands, names = append(operands, string(v.JSON())), append(names, markdown.Escape(v.Text))
	}
	filter, is := operands[0], "="
	if len(values) > 1 {
		filter = `{"in":[` + strings.Join(operands, ",") + `]}`
	}
	switch {
	case f.listed() && denied:
		filter, is = `{"not":{"contains":`+operands[0]+`}}`, "does not contain"
	case f.listed():
		filter, is = `{"contains":`+operands[0]+`}`, "contains"
	case denied && len(values) > 1:
		filter, is = `{"ne":null,"not":`+filter+`}`, "≠"
	case denied:
		filter, is = `{"ne":`+filter+`}`, "≠"
	}
	c := newCond(f, filter, is+" "+listing(names, 8, " or "), at)
	c.values, c.denied = values, denied
	return c
}

// present selects records with a value, or those where the field is missing, null or empty.
func present(f *field, want bool, at span) cond {
	filter := `{"ne":null}`
	if f.has("array") {
		filter = `{"ne":null,"not":{"in":[[]]}}`
	}
	if want {
		return newCond(f, filter, "is set", at)
	}
	return newCond(f, `{"not":`+filter+`}`, "is not set", at)
}

// isTrue selects records where the field is true, or where it is not.
func isTrue(f *field, want bool, at span) cond {
	onlyTrue := !slices.ContainsFunc(f.column().Values, func(v estate.Value) bool { return v.Text == "false" })
	switch {
	case want:
		return newCond(f, "true", "= true", at)
	case onlyTrue:
		return newCond(f, `{"ne":true}`, "≠ true", at)
	}
	return newCond(f, "false", "= false", at)
}

var signs = map[string]string{
	"gt": ">", "gte": "≥", "lt": "<", "lte": "≤", "eq": "=", "start": "starts with", "end": "ends with",
}

// compared returns the condition f op lo, or lo ≤ f ≤ hi if hi is set. A date literal denotes a period: "> 2026" starts after its
// end.
func compared(f *field, op, lo, hi string, at span) cond {
	relation := signs[op] + " " + lo
	dates := f.dates()
	if hi != "" {
		relation = "from " + lo + " to " + hi
	} else if dates && op == "eq" {
		relation, hi = "in "+lo, lo
	}
	bound := func(op, literal string) string {
		switch {
		case dates && op == "gt":
			op, literal = "gte", after(literal)
		case dates && op == "lte":
			op, literal = "lt", after(literal)
		}
		if dates {
			literal = raw(literal)
		}
		return fmt.Sprintf("%q:%s", op, literal)
	}
	switch {
	case hi != "":
		return newCond(f, "{"+bound("gte", lo)+","+bound("lte", hi)+"}", relation, at)
	case op == "eq":
		return newCond(f, lo, relation, at)
	}
	return newCond(f, "{"+bound(op, lo)+"}", relation, at)
}

// after returns an exclusive upper bound of the period as a string.
func after(date string) string { return date[:len(date)-1] + string(date[len(date)-1]+1) }

// nearest returns the link to a field that an operand is compared with: before or within the comparison, or after it; nil if there is
// none.
func (r reading) nearest(c comparison, fits func(*field) bool) (best *link) {
	distance := 5
	for _, l := range r.links {
		d, behind := r.between(l.end(), c.at), l.start() >= c.end
		if behind {
			d = r.between(c.end, l.start())
		}
		if l.role == asField && fits(l.field) && d < distance && !(behind && c.op == "eq" && d > 0) {
			best, distance = l, d
		}
	}
	return best
}

// between counts the content words of a range; another clause counts more.
func (r reading) between(from, to int) (n int) {
	for i := from; i < to; i++ {
		switch w := r.q[i]; {
		case w.brk && i > from, oneOf(w.low, "and|or|but|that|which") && !r.used[i]:
			n += 3
		case !w.stop && !r.used[i] && !verbs[w.low] && units[w.low] == "":
			n++
		}
	}
	return n
}

// compare returns the conditions of the comparisons; declined is a reason to decline.
func (r *reading) compare() (out []cond, declined string) {
	for _, c := range r.compared {
		var one cond
		switch {
		case c.peer:
			one = r.withPeer(c)
		case r.at(c.end-1, asValue, asArray) != nil || c.lo.number != "" && r.used[c.end-1]:
			continue
		case oneOf(c.op, "start|end"):
			one, declined = r.withText(c)
		default:
			one, declined = r.withLiteral(c)
		}
		switch {
		case declined != "":
			return nil, declined
		case one.field == nil:
			continue
		case slices.Contains(r.neg[one.span[0]:one.span[1]], true) && !c.peer:
			return nil, "The negation is ambiguous."
		case !c.peer:
			mark(r.used, c.at, c.end)
		}
		out = append(out, one)
	}
	return out, ""
}

// markUsed marks the link's words as explained.
func (r *reading) markUsed(l *link) {
	for _, i := range l.pos {
		r.used[i] = true
	}
}

// withPeer compares two fields: "more A than B", "A exceeds B".
func (r *reading) withPeer(c comparison) cond {
	var left, right *link
	for _, l := range r.links {
		switch {
		case l.role != asField || !l.field.numeric() && !l.field.dates():
		case l.start() >= c.end:
			if r.between(c.end, l.start()) == 0 {
				right = l
			}
		case l.start() > c.at || r.between(l.end(), c.at) <= 1:
			left = l
		}
	}
	if left == nil || right == nil || left.field == right.field || left.field.numeric() != right.field.numeric() {
		return cond{}
	}
	r.markUsed(left)
	r.markUsed(right)
	mark(r.used, c.at, c.at+1)
	mark(r.used, c.end-1, c.end)
	operand := `{"field":` + raw(right.field.path) + `}`
	filter := fmt.Sprintf(`{%q:%s}`, c.op, operand)
	if c.op == "eq" {
		filter = `{"gte":` + operand + `,"lte":` + operand + `}`
	}
	return newCond(left.field, filter, signs[c.op]+" "+right.field.name(), span{left.start(), right.end()})
}

// withText selects records whose text starts or ends with a text in any case.
func (r *reading) withText(c comparison) (cond, string) {
	f := r.array.identity()
	if l := r.nearest(c, (*field).textual); l != nil {
		f = l.field
		r.markUsed(l)
	}
	if f == nil || !f.textual() {
		return cond{}, "It is unclear which field to compare with the text."
	}
	test := strings.HasPrefix
	if c.op == "end" {
		test = strings.HasSuffix
	}
	var found []string
	for _, v := range f.column().Values {
		if r.array.ended() {
			return cond{}, ""
		}
		if v.Type == "string" && test(strings.ToLower(v.Text), strings.ToLower(c.lo.raw)) {
			found = append(found, string(v.JSON()))
		}
	}
	if len(found) > fewValues || len(f.column().Values) < f.column().Distinct {
		return cond{}, quoted(c.lo.raw) + " matches too many values of " + f.name() + "."
	}
	return newCond(f, `{"in":[`+strings.Join(found, ",")+`]}`, signs[c.op]+" "+markdown.Escape(c.lo.raw), span{c.at, c.end}), ""
}

func (r *reading) withLiteral(c comparison) (cond, string) {
	at, unit := span{c.at, c.end}, units[r.low(c.end)]
	fits := func(f *field) bool {
		if c.lo.date != "" && (f.dates() || c.lo.number != "" && f.years()) {
			return true
		}
		return c.lo.number != "" && f.numeric() && (c.lo.date == "" || c.op != "eq")
	}
	var f *field
	switch l := r.nearest(c, fits); {
	case l != nil:
		f, at = l.field, span{min(at[0], l.start()), max(at[1], l.end())}
		r.markUsed(l)
	case c.lo.date != "" && (c.op != "eq" || c.at < c.end-1):
		f = r.only(func(f *field) bool { return f.dates() || c.lo.number != "" && f.years() })
	case unit != "":
		f = r.only(func(f *field) bool { return f.numeric() && f.unit() == unit })
	}
	lo, hi := c.lo.number, c.hi.number
	if f != nil && f.dates() {
		lo, hi = c.lo.date, c.hi.date
	}
	switch {
	case f == nil && c.op == "eq" && c.lo.date == "":
		return cond{}, "" // an unexplained word
	case f == nil:
		return cond{}, "It is unclear which field to compare with " + markdown.Escape(c.lo.raw) + "."
	case f.numeric() && unit != "" && f.unit() != "" && f.unit() != unit:
		return cond{}, "The unit " + markdown.Escape(r.low(c.end)) + " cannot be converted to the unit of " + f.name() + "."
	case c.hi.raw != "" && hi == "":
		return cond{}, "The range for " + f.name() + " is incomplete."
	}
	return compared(f, c.op, lo, hi, at), ""
}

// only returns the only field of the array that satisfies accept; nil if there is none, or more.
func (r reading) only(accept func(*field) bool) (only *field) {
	for _, f := range r.array.fields() {
		if r.array.ended() {
			return nil
		}
		if accept(f) {
			if only != nil {
				return nil
			}
			only = f
		}
	}
	return only
}

// conditions sets the plan's conditions, except on the fields that the question asks for.
func (r *reading) conditions(p *plan, targets ...*field) string {
	all, declined := r.compare()
	if declined != "" {
		return declined
	}
	for _, l := range r.links {
		if l.role == asValue {
			c := equal(l.field, l.values, l.denied != r.neg[l.start()], l.span())
			c.partly = l.whole < 1
			all = append(all, c)
		}
	}
	for _, l := range r.links {
		if l.role != asField || r.used[l.start()] || l.whole < 0.5 {
			continue
		}
		target := slices.Contains(targets, l.field) && !(r.op.conditional() && l.field.isBool())
		if target || slices.ContainsFunc(all, func(c cond) bool { return c.field == l.field }) {
			continue
		}
		if c := r.state(l, l.denied != r.neg[l.start()]); c.field != nil {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(x, y cond) int { return cmp.Compare(x.span[1], y.span[1]) })
	return r.combine(p, all)
}

// state returns the condition of a field that is named without a value: a boolean, or a value that is present or absent. It is empty if
// there is none.
func (r *reading) state(l *link, denied bool) cond {
	f := l.field
	yes, no := f.booleanValues()
	switch {
	case f.isBool():
		return isTrue(f, denied == r.off, l.span())
	case yes != nil && denied != r.off:
		return equal(f, no, false, l.span())
	case yes != nil:
		return equal(f, yes, false, l.span())
	case f.sums() && !f.optional() && denied:
		return compared(f, "eq", "0", "", l.span())
	case f.sums() && !f.optional() && r.hasPossessive(l):
		return compared(f, "gt", "0", "", l.span())
	case denied || r.hasPossessive(l), f.optional() && r.predicated(l.end()-1) && l.plain && r.spelled(l):
		return present(f, !denied, l.span())
	}
	return cond{}
}

// spelled reports whether the link's words are those of the field's name, not only of the same stem: "closed", not "close".
func (r reading) spelled(l *link) bool {
	return !slices.ContainsFunc(l.pos, func(i int) bool {
		return !slices.ContainsFunc(l.field.parts, func(p part) bool { return singular(p.low) == singular(r.q[i].low) })
	})
}

// hasPossessive reports whether a word such as "have" or "with" precedes the field.
func (r reading) hasPossessive(l *link) bool {
	i, _ := find(r.q[:l.start()], max(0, l.start()-5),
		"have|has|had|having|with|carry|carries|carrying|contain|contains|include|report|reports|specify|set|define|defines|any")
	return i >= 0
}

// combine merges conditions on the same field, and those that "or" joins.
func (r *reading) combine(p *plan, all []cond) string {
	for i, c := range all {
		or := -1
		if i > 0 {
			or, _ = find(r.q[:c.span[1]], all[i-1].span[1], "or")
		}
		k, last := slices.IndexFunc(p.all, func(o cond) bool { return o.field == c.field }), len(p.all)-1
		switch {
		case k >= 0 && k == last && or < 0 && strings.HasPrefix(p.all[k].filter, `{"g`) && strings.HasPrefix(c.filter, `{"l`):
			p.all[k].filter = p.all[k].filter[:len(p.all[k].filter)-1] + "," + c.filter[1:]
			p.all[k].phrase += " and " + c.phrase
		case k >= 0 && k == last && p.any == nil:
			if p.all[k].values == nil || c.values == nil || c.field.listed() || c.denied != p.all[k].denied {
				return "Two conditions on " + c.field.name() + " cannot be combined; ask about one."
			}
			at := span{min(p.all[k].span[0], c.span[0]), c.span[1]}
			p.all[k] = equal(c.field, slices.Concat(p.all[k].values, c.values), c.denied, at)
		case k >= 0:
			return "The combination of conditions on " + c.field.name() + " is ambiguous."
		case or >= 0 && last == 0 && !c.denied && !p.all[0].denied:
			p.any, p.all = [][]cond{{p.all[0]}, {c}}, nil
		case or >= 0 || p.any != nil:
			return "The combination of conditions is ambiguous."
		default:
			p.all = append(p.all, c)
		}
	}
	return ""
}
