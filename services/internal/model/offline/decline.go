package offline

import (
	"cmp"
	"slices"
	"strings"

	"cairn/services/internal/markdown"
)

const (
	unclearQuestion = "The question was not understood."
	unclearGoal     = "It is unclear which of the conditions are asked for."
)

// declineReason returns the reason to decline the question (an unmatched word, an ambiguous word, or an unused field), or "".
func declineReason(r *reading, p *plan) string {
	var lost []int
	for _, i := range r.unexplained() {
		if r.neg[min(i+1, len(r.q)-1)] == i+1 && r.at(i+1, asArray) != nil {
			return "Questions about values without " + p.array.noun(2) + " are not supported."
		}
		if w := r.q[i]; w.stop && r.by[i] == nil {
			return "The meaning of " + quoted(w.text) + " was not understood."
		} else if !r.enclosed(i) && !describes(r, i, p) {
			lost = append(lost, i)
		}
	}
	for _, l := range r.links {
		verb := r.at(l.end(), asValue, asField) // "did Kim open"
		if l.role == asValue && verb != nil && verb.end() == len(r.q) && verb.field != l.field && !verb.field.numeric() && !verb.field.dates() &&
			r.is(l.start()-1, "did|does|do") {
			return "The meaning of " + quoted(r.q[verb.start()].text) + " was not understood."
		}
		if g := sibling(r, l); g != nil {
			return quoted(r.text(l.span())) + " is ambiguous: " + l.field.name() + " or " + g.name() + "."
		}
		if l.role == asField && l.field.listed() && r.is(l.start()-1, "one") && r.is(l.start()-2, "exactly|only|just") {
			return "Counting the values of " + l.field.name() + " in a record is not supported."
		}
		if l.ambiguous {
			return quoted(r.text(l.span())) + " is ambiguous: " + listing(texts(l.values), 3, " or ") + "."
		}
	}
	if len(lost) > 0 {
		return r.unknownTerms(lost)
	}
	return cmp.Or(unclearFigure(r, p), unusedField(r, p))
}

// sibling returns a numeric field that ends with the same word as the field of the link, if the question has no other word of either:
// month_to_date_spend and forecast_spend; or one of the same object, if the word names the object: disk.size and disk.used; nil if there is
// none.
func sibling(r *reading, l *link) *field {
	pos := slices.DeleteFunc(slices.Clone(l.pos), func(i int) bool { return units[r.q[i].low] != "" })
	if l.role != asField || len(pos) != 1 || !l.field.numeric() {
		return nil
	}
	w, parent := r.q[pos[0]], l.field.path[:strings.LastIndexByte(l.field.path, '.')+1]
	own := func(low string) bool { return stem(low) == w.stem || slices.Contains(synonyms[w.stem], stem(low)) }
	last := func(f *field) string { return f.words[len(f.words)-1] }
	object := parent != "" && !slices.ContainsFunc(l.field.words, own)
	ending := l.whole <= 0.6 && len(l.field.words) > 1 && stem(last(l.field)) == w.stem
	for f := range r.array.each() {
		same := object && strings.HasPrefix(f.path, parent) || ending && len(f.words) > 1 && last(f) == last(l.field)
		if f != l.field && f.numeric() && same {
			return f
		}
	}
	return nil
}

// unclearFigure returns the reason to decline a figure that the question may not ask for, or records that the tools cannot select; "" if
// there is none.
func unclearFigure(r *reading, p *plan) string {
	limit, figure := p.limits(), cmp.Or(p.measure, p.group)
	unit := otherUnit(r, figure)
	person := func(f *field) bool { return len(f.words) > 0 && persons[f.words[len(f.words)-1]] }
	switch {
	case p.names && r.begins("who") && !person(p.group):
		return "It is unclear which field answers who."
	case (r.has("both") && r.op != exists && r.op != all && r.op != compare || r.op == list && p.group != p.array.identity() && r.has("and")) &&
		slices.ContainsFunc(p.conds(), func(c cond) bool { return c.parts > 1 && !c.denied && !c.field.listed() && !c.field.unique() }):
		return "Records with both values cannot be selected; ask about one."
	case r.op == list && r.begins("which|who") && p.group != p.array.identity() && len(p.conds()) > 0 &&
		(r.has("all|every|each|never") || r.has("have|has|had|did|do|does not")): // "which teams passed all checks"
		return "Questions about all records of a " + p.group.name() + " are not supported."
	case p.metric == "sum" && slices.ContainsFunc(p.conds(), func(c cond) bool { return c.filter == "0" && c.field.partOf(p.measure) }):
		return "The use of field " + p.measure.name() + " was not understood." // "pumps not running": pumps less pumps_running
	case p.metric == "sum" && r.unsummable(p.measure):
		return "The sum of " + p.measure.name() + " has no meaning; ask for the average."
	case unit != "":
		return "The unit " + markdown.Escape(unit) + " cannot be converted to the unit of " + figure.name() + "."
	case limit != nil && r.has("maximum|minimum|max|min"):
		return "It is unclear whether the " + metricNames[p.metric] + " " + p.measure.name() + " is meant, or " + limit.name() + "."
	case p.group != nil && p.group.listed() && !p.names:
		return "Grouping by " + p.group.name() + " is not supported: a record has several values. Ask about one value."
	}
	return ""
}

// otherUnit returns the unit that the question requests, as in "in minutes", if the field has another one; "" otherwise.
func otherUnit(r *reading, f *field) string {
	if f == nil || f.unit() == "" {
		return ""
	}
	for i, w := range r.q {
		if u := units[w.low]; u != "" && u != f.unit() && r.is(i-1, "in") {
			return w.low
		}
	}
	return ""
}

// describes reports whether the noun at i only describes the field behind it, of which the question asks whether it is set, or gives a
// date: "no access logging", where the only logging is of access, "a remediation due date of 2026-05-03".
func describes(r *reading, i int, p *plan) bool {
	w, k, compound := r.q[i], i+1, i > 0 && r.q[i-1].at == r.q[i].at
	if k < len(r.q) && r.q[k].at == w.at && r.by[k] == nil {
		k, compound = k+1, true // "customer-managed"
	}
	l := r.at(k, asField)
	if l == nil || l.whole < 0.9 || w.number != "" || w.low != w.text || narrowing[w.low] || !r.op.conditional() {
		return false
	}
	only := l.field.column().Distinct < 2 && !l.field.has("array") // it cannot select one of several values
	return slices.ContainsFunc(p.conds(), func(c cond) bool {
		return c.field == l.field && c.values == nil && (c.set && (compound || only) || l.field.dates() && len(l.pos) > 1)
	})
}

// unusedField declines if the question names a field or has a superlative that the plan does not use, or negates the records.
func unusedField(r *reading, p *plan) string {
	_, many := find(r.q, 0, "how many")
	for _, l := range r.links {
		at := l.start()
		uses := l.field != nil && (p.group == l.field || p.measure == l.field || p.other == l.field || p.on(l.field))
		superlative := l.role == asField && !l.plain && len(l.pos) == 1 && r.is(at, superlatives+"|"+measures)
		switch {
		case superlative && p.op != top && !oneOf(p.metric, "min|max"):
			return "The meaning of " + quoted(r.q[at].text) + " was not understood."
		case l.role == asArray && r.is(r.neg[at]-1, "no|without|lack|lacks|lacking"):
			return "Questions about values without " + p.array.noun(2) + " are not supported."
		case l.role == asField && r.focus.has(at) && r.op == count && r.at(l.end(), asArray) != nil &&
			l.field.column().Distinct > maxMeant: // "zone offers" are offers that have a zone
		case l.field != nil && l.field == p.array.identity() && r.focus.has(at): // denotes the records
		case uses, r.used[at], l.role != asField, strings.HasSuffix(l.field.path, ".name"),
			l.whole < 0.5 && r.focus.has(at) && l.end() < r.focus[1]:
		case r.hasContent(l.span()) && (r.focus.has(at) || many != at):
			return "The use of field " + l.field.name() + " was not understood."
		}
	}
	return ""
}

// quoted returns words of the question in quotation marks, in Markdown.
func quoted(text string) string { return `"` + markdown.Escape(text) + `"` }

const maxSuggestions = 3

// suggest returns questions that the planner answers, about the plan's array or else the first ones. They have no digits: a declined
// question has no figures.
func suggest(p plan, arrays []*array) (out []string) {
	about := arrays[:min(len(arrays), maxSuggestions)]
	if p.array != nil {
		about = []*array{p.array}
	}
	for _, a := range about {
		noun := a.title()
		var questions []string
		for _, c := range p.conds() {
			if len(c.values) == 1 && c.values[0].Type == "string" {
				questions = append(questions, "How many "+noun+" have "+c.field.path+" "+c.values[0].Text+"?")
			}
		}
		if f := a.categoryField(); f != nil {
			questions = append(questions, "How many "+noun+" are there per "+f.path+"?")
		}
		questions = append(questions, "How many "+noun+" are there?", "Which fields do the "+noun+" have?")
		out = append(out, slices.DeleteFunc(questions[:min(len(questions), maxSuggestions)], func(question string) bool {
			q := split(question)
			return len(out) >= maxSuggestions || strings.ContainsAny(question, "0123456789") || len(q) > maxWords ||
				makePlan(q, []*array{a}, nil).declined != ""
		})...)
	}
	return out[:min(len(out), maxSuggestions)]
}
