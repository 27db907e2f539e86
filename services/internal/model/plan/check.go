package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Check links the values of a call and adds the conditions of the question. It returns the remaining problems.
func Check(q *Question, c *Call) []Problem {
	a := q.v.Array(c.DataKey)
	if a == nil {
		note := "no data array " + c.DataKey
		c.DataKey = ""
		return []Problem{{Note: note}}
	}
	if best := bestProposal(q); best.reason == "" && best.rival == nil && !q.compound() && q.english() {
		*c = best.call // the rules explain every word
		return linkValues(q.v.Array(c.DataKey), c)
	}
	problems := linkValues(a, c)
	if !q.english() { // its words are only names and values
		return problems
	}
	problems = append(problems, checkGroup(q, a, c)...)
	if q.compound() { // the call is a part of it
		return problems
	}
	dropUnsaid(q, a, c)
	complete(q, a, c)
	descend(q, a, c)
	problems = append(problems, checkMetric(q, a, c)...)
	if asksValue(q) && c.GroupBy == "" && c.Metric == metricCount {
		problems = append(problems, Problem{Note: "it asks for more than a count, a name or a figure"})
	}
	const few = 2 // a small model may know one word that the rules do not
	if words := unexplained(q, a, c); len(words) >= few {
		problems = append(problems, Problem{Note: fmt.Sprintf("nothing in the data explains %q", strings.Join(words, ", "))})
	}
	if r := readFor(q, a); r.unclear != "" {
		problems = append(problems, Problem{Note: r.unclear})
	}
	if disjoint(q, readFor(q, a)) {
		problems = append(problems, Problem{Note: "one computation cannot have alternatives of different fields"})
	}
	if unused := unusedFields(q, a, c); len(unused) > 0 {
		problems = append(problems, Problem{
			Note:        "the question names " + strings.Join(unused, ", "),
			Restriction: &Restriction{DataKey: a.Key, Filter: unused},
		})
	} else if len(problems) == 0 && len(c.Filter) == 0 && c.GroupBy == "" && strings.TrimSpace(c.Conditions) != "" {
		problems = append(problems, Problem{
			Note:        fmt.Sprintf("the condition %q is not in the filter", c.Conditions),
			Restriction: &Restriction{DataKey: a.Key, Filter: pathsOf(q.relevant(a))},
		})
	}
	return problems
}

// asksValue reports whether the question asks for a value of a field, a place, a time or a reason.
func asksValue(q *Question) bool {
	i := q.Intent()
	figure := i.Count || i.Share || i.Total || i.Mean || i.Top
	return q.has("when", "where", "why") || q.low(0) == "what" && !figure
}

// unexplained returns the words of the question that neither its reading nor the fields and values of the call explain.
func unexplained(q *Question, a *Array, c *Call) []string {
	var names []string
	for _, path := range append(fieldsOf(c.Filter), c.GroupBy, c.Metric) {
		words, _ := pathWords(path)
		names = append(names, words...)
	}
	for _, o := range c.Filter {
		names = append(names, nameWords(fmt.Sprint(decodeValue(o.Value)))...)
	}
	return slices.DeleteFunc(unknown(q, readFor(q, a)), func(text string) bool {
		return slices.ContainsFunc(split(text), func(w word) bool {
			return slices.ContainsFunc(names, func(name string) bool { return alike(w, name) || strings.Contains(name, w.low) })
		})
	})
}

// unusedFields returns the fields that the question names if the call only counts all records.
func unusedFields(q *Question, a *Array, c *Call) (paths []string) {
	if len(c.Filter) > 0 || c.GroupBy != "" || c.Metric != metricCount {
		return nil
	}
	for _, m := range readFor(q, a).fields {
		if m.field.scalar() || m.field.optional() {
			paths = append(paths, m.field.Path)
		}
	}
	return paths
}

func pathsOf(fields []*Field) (paths []string) {
	for _, f := range fields {
		paths = append(paths, f.Path)
	}
	return paths
}

// dropUnsaid removes conditions that the question does not state: none of their words is in it; or that deny
// something although it denies nothing.
func dropUnsaid(q *Question, a *Array, c *Call) {
	denies := slices.ContainsFunc(q.words, func(w word) bool {
		return lexicon.negations[w.low] || w.low == "only" || w.low == "than"
	})
	conditions := slices.Clone(c.Filter)
	c.Filter = slices.DeleteFunc(c.Filter, func(condition Condition) bool {
		switch condition.Op {
		case opMissing, opNe, opLacks:
			if !denies {
				return true
			}
		case opPresent:
			if slices.ContainsFunc(conditions,
				func(o Condition) bool { return o.Field == condition.Field && o.Op != opPresent }) {
				return true
			}
		}
		_, named := q.named(a.Field(condition.Field))
		return !named && !says(q, condition)
	})
}

// says reports whether the question has the value of the condition, or a part of it.
func says(q *Question, c Condition) bool {
	text := fmt.Sprint(decodeValue(c.Value))
	folded := fold(text)
	if q.phrases[folded] != nil || text == "<nil>" {
		return true
	}
	return slices.ContainsFunc(q.words, func(w word) bool {
		low := fold(w.low)
		part := len(low) > 2 && !lexicon.stops[w.low] && (strings.Contains(folded, low) || strings.Contains(low, folded))
		return part || lexicon.numerals[w.low] == text
	})
}

// complete adds the conditions that the question states. They replace those of the call on the same field.
func complete(q *Question, a *Array, c *Call) {
	var replaced []string
	for _, k := range readFor(q, a).claims {
		f := k.mention.field
		used := func(f *Field) bool {
			return slices.ContainsFunc(c.Filter, func(o Condition) bool { return o.Field == f.Path })
		}
		if f.Path == c.GroupBy || (k.ambiguous || !used(f)) && slices.ContainsFunc(k.among, used) {
			continue
		}
		if !slices.Contains(replaced, f.Path) {
			c.Filter = slices.DeleteFunc(c.Filter, func(o Condition) bool { return o.Field == f.Path })
			replaced = append(replaced, f.Path)
		}
		op := k.Op
		switch {
		case f.list() && op == opEq:
			op = opContains
		case f.list() && op == opNe:
			op = opLacks
		}
		c.Filter = append(c.Filter, Condition{k.Field, op, k.Condition.Value})
	}
}

// checkMetric checks that the metric is what the question asks for: an average or a total of a field that it names.
// A metric that it does not ask for becomes a count.
func checkMetric(q *Question, a *Array, c *Call) []Problem {
	i := q.Intent()
	metric, path, _ := strings.Cut(c.Metric, ":")
	asked := map[string]bool{
		"avg": i.Mean, "p50": i.Mean, "sum": i.Total || i.Much, "min": i.Top, "max": i.Top,
		"distinct": c.GroupBy == "" && !slices.ContainsFunc(c.Filter, func(o Condition) bool {
			return o.Field == path && o.Op == opEq
		}),
	}
	if metric != metricCount && !asked[metric] {
		c.Metric, metric = metricCount, metricCount
	}
	if metric != metricCount && metric != "distinct" {
		if f := a.Field(path); f != nil && !ranks(q, a, f) {
			return []Problem{{Note: fmt.Sprintf("the question does not name %s", path)}}
		}
		return nil
	}
	var metrics []string
	switch {
	case i.Mean:
		metrics = metricsOf("avg:", q.mentions(a))
	case i.Much:
		metrics = metricsOf("sum:", q.mentions(a))
	case i.Count && c.GroupBy == "" && metric == metricCount && q.has("different", "distinct", "unique"):
		metrics = metricsOf("distinct:", readFor(q, a).fields)
	}
	switch {
	case len(metrics) > 0:
		return []Problem{{Note: "compute " + strings.Join(metrics, " or "),
			Restriction: &Restriction{DataKey: a.Key, Metrics: metrics}}}
	case i.Mean || i.Much:
		return []Problem{{Note: "no field with numbers is named"}}
	}
	return nil
}

// metricsOf returns a metric of each named field that has it.
func metricsOf(prefix string, mentions []mention) (metrics []string) {
	for _, m := range mentions {
		fits := m.field.scalar() && (prefix == "distinct:" || m.field.numeric() && !m.field.identifier())
		if metric := prefix + m.field.Path; m.value == nil && fits && !slices.Contains(metrics, metric) {
			metrics = append(metrics, metric)
		}
	}
	return metrics
}

// ranks reports whether the question names the field, or ranks by it with a word such as oldest.
func ranks(q *Question, a *Array, f *Field) bool {
	_, named := q.named(f)
	return named || slices.ContainsFunc(implied(q, readFor(q, a)), func(m mention) bool { return m.field == f })
}

// checkGroup checks that the question names the field of the groups, or values of it.
func checkGroup(q *Question, a *Array, c *Call) []Problem {
	if c.GroupBy == "" {
		return nil
	}
	var groups []string
	for _, m := range q.mentions(a) {
		if m.field.Path == c.GroupBy && m.value == nil && !m.exact && vaguely(q, m) {
			return []Problem{{Note: fmt.Sprintf("%q may be %s or another field", q.phrase(m), c.GroupBy)}}
		}
	}
	if slices.ContainsFunc(q.mentions(a), func(m mention) bool { return m.field.Path == c.GroupBy }) {
		return nil
	}
	for _, m := range readFor(q, a).fields {
		if m.field.scalar() && !m.field.boolean() && m.field.distinct() > 1 {
			groups = append(groups, m.field.Path)
		}
	}
	p := Problem{Note: fmt.Sprintf("the question does not name %s", c.GroupBy)}
	if len(groups) > 0 {
		p.Restriction = &Restriction{DataKey: a.Key, Groups: groups}
	}
	return []Problem{p}
}

// descend counts the enclosing records of a nested array if the question states conditions of the nested records:
// the instances in the security group db.
func descend(q *Question, a *Array, c *Call) {
	if c.GroupBy != "" || c.Metric != metricCount || len(c.Filter) > 0 {
		return
	}
	r := readFor(q, a)
	for _, inner := range q.v.Arrays {
		path, outer := "", inner
		for ; outer != nil && outer != a; outer = outer.Parent {
			path += parentPrefix
		}
		id := a.identity()
		if outer == nil || inner == a || id == nil {
			continue
		}
		for _, k := range readFor(q, inner).claims {
			if k.mention.field.Level == 0 && k.value != nil && !slices.Contains(r.covered[k.start:k.end], true) {
				c.Filter = append(c.Filter, k.Condition)
			}
		}
		if len(c.Filter) > 0 {
			c.DataKey, c.Metric = inner.Key, "distinct:"+path+id.Path
			return
		}
	}
}
