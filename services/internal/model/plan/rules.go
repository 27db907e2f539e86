package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Propose plans the question without a model, by the array of which the question names most. Every word that may carry
// meaning must be explained: otherwise, and if two fields or arrays explain it equally well, the question is declined.
func Propose(q *Question) Plan {
	switch {
	case len(q.words) == 0 || len(q.v.Arrays) == 0:
		return declined("there is no question, or the data has no arrays of records")
	case len(q.words) >= maxWords:
		return declined(fmt.Sprintf("the question has more than %d words", maxWords))
	}
	if General(q) {
		return Plan{Overview: true}
	}
	best := bestProposal(q)
	switch {
	case best.reason != "":
		return declined(best.reason)
	case best.rival != nil:
		return declined(fmt.Sprintf("it may be about %s or %s", best.call.DataKey, best.rival.Key))
	}
	return Plan{Calls: []Call{best.call}}
}

// bestProposal returns the proposal that explains most words. Another array that explains them as well is its rival.
func bestProposal(q *Question) *proposal {
	if q.proposed != nil {
		return q.proposed
	}
	var best *proposal
	for _, a := range q.ranked() {
		p := proposeFor(q, a)
		switch {
		case best == nil || p.better(best):
			best = p
		case best.better(p) || p.reason != "" || best.reason != "":
		case a.Key == best.call.DataKey+recursive: // has these records among others
		case best.call.DataKey == a.Key+recursive:
			best = p
		default:
			best.rival = a
		}
	}
	q.proposed = best
	return best
}

func declined(reason string) Plan { return Plan{NotInData: reason} }

// General reports whether the question asks for no particular figure: it has only function words and words such as
// overview.
func General(q *Question) bool {
	return !q.Intent().Count && !slices.ContainsFunc(q.words, func(w word) bool {
		return !lexicon.stops[w.low] && !lexicon.fillers[w.low] && !lexicon.general[w.low] || lexicon.negations[w.low]
	})
}

// Breakdowns returns calls that count the records of the largest arrays by a field with few values.
func Breakdowns(q *Question, n int) (calls []Call) {
	arrays := slices.Clone(q.v.Arrays)
	slices.SortStableFunc(arrays, func(a, b *Array) int { return cmp.Compare(b.Count, a.Count) })
	for _, a := range arrays {
		i := slices.IndexFunc(a.Fields, func(f *Field) bool {
			return f.Level == 0 && f.has("string") && f.enumerated() && f.distinct() > 1
		})
		if i >= 0 && len(calls) < n {
			calls = append(calls, Call{DataKey: a.Key, GroupBy: a.Fields[i].Path, Metric: metricCount})
		}
	}
	return calls
}

// A proposal is a call over one array, or the reason why there is none.
type proposal struct {
	call    Call
	reason  string
	unknown int // words without an explanation
	score   float64
	rival   *Array
}

// better reports whether p explains more words than o, or as many by better matches.
func (p *proposal) better(o *proposal) bool {
	if (p.reason == "") != (o.reason == "") {
		return p.reason == ""
	}
	if p.unknown != o.unknown {
		return p.unknown < o.unknown
	}
	return p.score > o.score
}

// proposeFor plans the question over one array.
func proposeFor(q *Question, a *Array) *proposal {
	r := readFor(q, a)
	p := &proposal{call: Call{DataKey: a.Key, Metric: metricCount}, score: q.score(a)}
	fields := slices.DeleteFunc(slices.Clone(r.fields), func(m mention) bool {
		return slices.ContainsFunc(r.claims, func(c claim) bool {
			name, named := q.named(c.mention.field)
			return c.mention.field == m.field || m.field.object() && strings.HasPrefix(c.Field, m.field.Path+".") ||
				named && name.start <= m.start && m.end <= name.end
		})
	})
	slices.SortStableFunc(r.claims, func(a, b claim) int { return cmp.Compare(a.start, b.start) })
	for _, c := range r.claims {
		if c.ambiguous {
			p.reason = fmt.Sprintf("%q may be a value of %s or %s", q.phrase(c.mention), c.Field, c.among[0].Path)
		}
		p.call.Filter = append(p.call.Filter, c.Condition)
	}
	setFigure(q, p, r, fields)
	unknown := unknown(q, r)
	if p.unknown = len(unknown); p.unknown > 0 && p.reason == "" {
		p.reason = fmt.Sprintf("no array and field explains %q", strings.Join(unknown, ", "))
	}
	return p
}

// setFigure sets the group and the metric of a proposal from the fields that the question names besides its conditions.
func setFigure(q *Question, p *proposal, r *reading, fields []mention) {
	i := q.Intent()
	numbers, groups := divide(q, fields)
	if i.Top && len(numbers)+len(groups) == 0 {
		numbers = implied(q, r)
	}
	metric := ""
	switch {
	case i.Mean:
		metric = "avg:"
	case i.Top && len(groups) == 0 && i.Count && !i.Names:
		p.fail("what is ranked is unclear")
	case i.Top && len(groups) == 0:
		metric = map[bool]string{true: "min:", false: "max:"}[i.Least]
	case i.Total || i.Much:
		metric = "sum:"
	}
	switch {
	case metric != "" && len(numbers) > 0:
		p.call.Metric = metric + numbers[0].field.Path
		numbers = numbers[1:]
	case i.Mean:
		p.fail("no field with numbers is named")
	case i.Count && !i.Top && len(groups) == 1 && distinctOf(q, groups[0], r):
		p.call.Metric = "distinct:" + groups[0].field.Path
		groups = nil
	}
	if len(groups) > 0 {
		p.groupBy(q, groups[0])
		groups = groups[1:]
	}
	switch {
	case unclear(q, p, r) != "":
		p.fail(unclear(q, p, r))
	case len(groups)+len(numbers) > 0:
		p.fail("it names more fields than one computation has")
	case i.Top && p.call.GroupBy == "" && p.call.Metric == metricCount:
		p.fail("what is ranked is unclear")
	case disjoint(q, r):
		p.fail("alternatives of different fields")
	}
}

// unclear returns why a question asks for more than the call of a proposal computes; empty if it does not.
func unclear(q *Question, p *proposal, r *reading) string {
	i := q.Intent()
	extremes := q.has("minimum", "min", "lowest", "smallest") && q.has("maximum", "max", "highest", "largest")
	grouped := p.call.GroupBy != ""
	switch {
	case q.low(0) != "who" && q.has("who", "whose"), q.has("when", "where", "why"), q.has("how") && !q.has("many", "much"):
		return "it asks for more than a count, a name or a figure"
	case !grouped && q.low(0) != "top" && (perOther(q, r) || r.noun >= 0 && q.low(r.noun+1) == "by"):
		return "it asks for figures per something that is no field"
	case grouped && i.Least && len(p.call.Filter) > 0:
		return "groups without such records are not computed"
	case extremes, i.Mean && (q.has("total", "sum") || i.Top):
		return "it asks for several figures"
	case q.compound():
		return "it has several questions"
	case grouped && i.Names && slices.ContainsFunc(p.call.Filter, Condition.denies):
		return "which groups lack records is unclear"
	case grouped && i.Top && !q.has("most", "fewest", "least", "top", "number"):
		return "what is ranked is unclear"
	case i.YesNo && r.noun > 0 && lexicon.negations[q.low(r.noun-1)]:
		return "what is denied is unclear"
	}
	return r.unclear
}

// perOther reports whether the question asks for figures per something else than a record.
func perOther(q *Question, r *reading) bool {
	position := 1 + slices.IndexFunc(q.words, func(w word) bool { return w.low == "per" })
	return position > 0 && !slices.ContainsFunc(r.array.words, func(name string) bool {
		return position < len(q.words) && alike(q.words[position], name)
	})
}

// divide returns the fields that a metric may be of, and those to group by.
func divide(q *Question, fields []mention) (numbers, groups []mention) {
	for _, m := range fields {
		number := m.field.numeric() && !m.field.identifier() || m.field.date()
		if number && !(grouped(q, m) && m.field.scalar()) {
			numbers = append(numbers, m)
		} else {
			groups = append(groups, m)
		}
	}
	return numbers, groups
}

// disjoint reports whether "or" joins conditions of different fields, which a call cannot have.
func disjoint(q *Question, r *reading) bool {
	for i, w := range q.words {
		if w.low != "or" {
			continue
		}
		for _, left := range r.claims {
			if left.end <= i && left.end >= i-1 && slices.ContainsFunc(r.claims, func(right claim) bool {
				return right.start > i && right.start <= i+2 && right.Field != left.Field
			}) {
				return true
			}
		}
	}
	return false
}

// groupBy sets the group.
func (p *proposal) groupBy(q *Question, m mention) {
	i := q.Intent()
	switch {
	case !grouped(q, m) && (!i.Top || i.Count):
		p.fail(fmt.Sprintf("what is asked about %s is unclear", m.field.Path))
	case !m.field.scalar(), i.Top && m.field.list():
		p.fail(fmt.Sprintf("%s has lists", m.field.Path))
	case !m.exact && vaguely(q, m):
		p.fail(fmt.Sprintf("%q may be %s or another field", q.phrase(m), m.field.Path))
	}
	p.call.GroupBy = m.field.Path
}

func (p *proposal) fail(reason string) {
	if p.reason == "" {
		p.reason = reason
	}
}

// implied returns the only field that a superlative may rank by: a date for oldest and newest, a size for largest
// and smallest.
func implied(q *Question, r *reading) (fields []mention) {
	dates, sizes := false, false
	for _, w := range q.words {
		dates = dates || slices.Contains([]string{"oldest", "newest", "latest", "earliest"}, w.low)
		sizes = sizes || slices.Contains([]string{"largest", "smallest", "biggest"}, w.low)
	}
	for _, f := range r.array.Fields {
		size := slices.ContainsFunc(f.name(), func(name string) bool { return name == "size" || name == "capacity" })
		if f.Level == 0 && (dates && f.date() || sizes && size && f.numeric()) {
			fields = append(fields, mention{field: f})
		}
	}
	if len(fields) != 1 {
		return nil
	}
	return fields
}

// vaguely reports whether another field has the words of a mention in its name as well: location of locationType.
func vaguely(q *Question, m mention) bool {
	return slices.ContainsFunc(m.field.Array.Fields, func(f *Field) bool {
		shared := func(name string) bool {
			return !lexicon.vague[name] && slices.ContainsFunc(q.words[m.start:m.end], func(w word) bool {
				return alike(w, name)
			})
		}
		return f != m.field && f.Level == m.field.Level && f.scalar() && f.distinct() > 1 &&
			slices.ContainsFunc(f.name(), shared)
	})
}

// distinctOf reports whether the question counts the values of a field: "how many different sizes", "how many vendors".
func distinctOf(q *Question, m mention, r *reading) bool {
	before := q.low(m.start - 1)
	different := slices.Contains([]string{"different", "distinct", "unique", "separate"}, before)
	return !grouped(q, m) && (different ||
		before == "many" && r.noun < 0 && (len(r.claims) == 0 || m.field.distinct() == r.array.Count))
}

// unknown returns the words of the question that may carry meaning and that the reading does not explain.
func unknown(q *Question, r *reading) (words []string) {
	denied := slices.ContainsFunc(r.claims, claim.denies)
	compared := slices.ContainsFunc(r.claims, func(c claim) bool {
		return slices.Contains([]string{opGt, opGte, opLt, opLte}, c.Op)
	})
	for i, w := range q.words {
		switch {
		case q.low(i-1) == "at" && (w.low == "least" || w.low == "most") && !compared:
			words = append(words, w.text)
		case r.covered[i], lexicon.superlatives[w.low], lexicon.negations[w.low] && denied, lexicon.comparatives[w.low] &&
			compared:
		case q.intent.Unit != "" && w.text == q.intent.Unit, q.intent.Limit > 0 && number(w.low) == q.intent.Limit:
		// a state
		case slices.Contains([]string{"on", "off", "up", "down", "out"}, w.low) && (i+1 == len(q.words) || q.words[i+1].brk):
			words = append(words, w.text)
		case (w.low == "last" || w.low == "first") && r.namesDate(i+1):
		case w.low == "over" && (q.low(i+1) == "all" || q.low(i+1) == "the"):
		case lexicon.negations[w.low], lexicon.comparatives[w.low]:
			words = append(words, w.text)
		case lexicon.stops[w.low], lexicon.fillers[w.low], lexicon.verbs[w.low]:
		case lexicon.suffixes[w.low] && r.besideValue(i):
		default:
			words = append(words, w.text)
		}
	}
	return words
}

// Suggestions returns questions that can be answered about the array that the question names most.
func Suggestions(q *Question) (questions []string) {
	const most = 3
	for _, a := range q.ranked() {
		if len(questions) == most {
			break
		}
		noun := a.Noun()
		questions = append(questions, fmt.Sprintf("How many %s are there?", noun))
		for _, f := range a.Fields {
			if f.Level == 0 && f.has("string") && f.enumerated() && f.distinct() > 1 && len(questions) < most {
				questions = append(questions, fmt.Sprintf("How many %s per %s?", noun, f.Path))
			}
		}
	}
	return questions
}
