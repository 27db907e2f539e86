package analyze

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
	"cairn/services/internal/model/plan"
)

// Bounds on the values that a statement lists.
const (
	maxStatedGroups = 50
	maxStatedNames  = 100
	maxInline       = 4 // groups in a sentence; more are a list
)

// A statement puts the result of a call of compute_stats into sentences, as Markdown with escaped values. Every
// figure is one of the result, or a percentage of two of them.
type statement struct {
	query  estate.Query
	stats  estate.Stats
	intent plan.Intent
	noun   string // plural noun of the records
	notes  []string
}

// String returns the sentences: what was counted, under which conditions, and the figures.
func (s statement) String() string {
	var text string
	metric, field, _ := strings.Cut(cmp.Or(append(s.query.Metrics, "count")[0], "count"), ":")
	switch {
	case len(s.query.GroupBy.Named()) > 0:
		text = s.groups(metric, field)
	case metric == "distinct":
		text = fmt.Sprintf("%s %s of %s among %s.", s.number(s.stats.Total, ""),
			pluralize(s.stats.Total, "different value", "different values"),
			name(field), s.subject())
	case metric != "count":
		text = s.measure(metric, field)
	default:
		text = s.count()
	}
	for _, note := range s.notes {
		text += " (" + markdown.Escape(note) + ".)"
	}
	return text
}

// count states how many records match, and which ones if they are few.
func (s statement) count() string {
	matched, records := s.stats.Matched, s.stats.Records
	if !s.filtered() {
		text := fmt.Sprintf("There are %d %s", records, s.noun)
		if records == 1 {
			text = "There is 1 " + plan.Singular(s.noun)
		}
		return s.withNames(s.verdict(records > 0)+text, s.intent.Names)
	}
	if s.intent.All && s.stats.Share != nil && s.query.Share != nil {
		return s.all(s.query.Share.Of, *s.stats.Share)
	}
	text := fmt.Sprintf("%d of %d %s %s %s", matched, records, s.noun, pluralize(estate.Number(matched), "has", "have"),
		s.conditions())
	if records > 0 && matched > 0 && matched < records {
		text += " (" + percent(matched, records) + ")"
	}
	holds := matched > 0
	if s.intent.All {
		holds = matched == records
	}
	return s.withNames(s.verdict(holds)+text, true)
}

// all states whether all records that match some conditions also match the others.
func (s statement) all(base estate.Filter, share estate.ShareOf) string {
	predicate := maps.Clone(s.query.Filter)
	for field := range base {
		delete(predicate, field)
	}
	verdict := s.verdict(share.Of > 0 && share.Records == share.Of)
	return fmt.Sprintf("%s%d of %d %s that have %s %s %s.", verdict, share.Records, share.Of, s.noun,
		conditionsOf(base), pluralize(estate.Number(share.Records), "has", "have"), conditionsOf(predicate))
}

// verdict begins the answer to a yes-or-no question.
func (s statement) verdict(holds bool) string {
	switch {
	case !s.intent.YesNo:
		return ""
	case holds:
		return "Yes: "
	}
	return "No: "
}

// withNames ends a sentence, and lists the records if they are few or asked for.
func (s statement) withNames(text string, list bool) string {
	var names []string
	for _, n := range s.stats.Names[:min(maxStatedNames, len(s.stats.Names))] {
		names = append(names, name(n.Name))
	}
	if !list || len(names) == 0 || s.stats.MoreNames > 0 && !s.intent.Names {
		return text + "."
	}
	if s.stats.MoreNames > 0 {
		names = append(names, fmt.Sprintf("and %d more", s.stats.MoreNames))
	}
	return text + ": " + strings.Join(names, ", ") + "."
}

// metricWords are the metrics of a field in words.
var metricWords = map[string]string{"sum": "total", "avg": "average", "min": "smallest", "max": "largest",
	"p50": "median",
	"p95": "95th percentile of", "distinct": "different values of"}

// measure states a sum, an average, a median or an extreme, and the records with it.
func (s statement) measure(metric, field string) string {
	if s.query.Top != nil && len(s.stats.Names) > 0 {
		return s.extremes(metric, field)
	}
	total := estate.Cell{Value: s.stats.Total}
	if date, ok := s.stats.Metrics[metric+":"+field]; ok { // the total is a count then
		total = date.Total
	}
	if math.IsNaN(float64(total.Value)) {
		return fmt.Sprintf("No value of %s among %s.", name(field), s.subject())
	}
	text := fmt.Sprintf("The %s %s of %s is %s", metricWords[metric], name(field), s.subject(),
		s.cell(total, s.stats.Unit))
	if c := s.stats.Coverage[field]; c.Null+c.Missing+c.Skipped > 0 {
		text += fmt.Sprintf(" (%d without such a value)", c.Null+c.Missing+c.Skipped)
	}
	return text + "."
}

// extremes states the records with the largest or smallest values.
func (s statement) extremes(metric, field string) string {
	var list []string
	for _, n := range s.stats.Names {
		text := name(n.Name)
		if n.Value != nil {
			text += " with " + s.cell(*n.Value, s.stats.NamesUnit)
		}
		list = append(list, text)
	}
	have := pluralize(estate.Number(len(list)), "has", "have")
	return fmt.Sprintf("Of %s, %s %s the %s %s.", s.subject(), strings.Join(list, ", "), have, metricWords[metric],
		name(field))
}

// groups states the figures of the groups, largest first, or the extreme ones.
func (s statement) groups(metric, field string) string {
	fields := name(strings.Join(s.query.GroupBy.Named(), ", "))
	var groups []estate.Group
	empty := ""
	for _, row := range s.stats.Rows {
		groups = append(groups, estate.Group{Key: strings.Join(row.By, ", "), Cell: estate.Cell{Value: row.Value}})
	}
	figures := s.stats.Groups
	if dates, ok := s.stats.Metrics[metric+":"+field]; ok { // the groups are counts then
		figures = dates.Groups
	}
	for _, g := range figures {
		switch {
		case math.IsNaN(float64(g.Value)):
		case g.Key == estate.NullGroup:
			empty = s.cell(g.Cell, s.stats.Unit)
		default:
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b estate.Group) int { return cmp.Compare(b.Text, a.Text) })
	if len(groups) == 0 {
		return fmt.Sprintf("None of %s has a value of %s.", s.subject(), fields)
	}
	measured := ""
	if metric != "count" {
		measured = metricWords[metric] + " " + name(field) + " of "
	}
	if s.intent.Least && s.stats.GroupCount > estate.MaxGroups { // the smallest ones are not among the groups
		return fmt.Sprintf("%s have %d values of %s, and only the %d with the largest figures are known.", s.subject(),
			s.stats.GroupCount, fields, estate.MaxGroups)
	}
	text := fmt.Sprintf("%s%s by %s: ", measured, s.subject(), fields)
	if s.intent.Top && s.intent.Limit < 2 {
		return s.leader(groups, fields, measured)
	}
	limit := maxStatedGroups
	if s.intent.Limit > 1 {
		limit = s.intent.Limit
	}
	if s.intent.Least {
		slices.Reverse(groups)
	}
	var list []string
	for _, g := range groups[:min(limit, len(groups))] {
		list = append(list, name(g.Key)+": "+s.cell(g.Cell, s.stats.Unit))
	}
	if rest := max(s.stats.GroupCount, len(groups)) - len(list); rest > 0 {
		list = append(list, fmt.Sprintf("and %d more %s", rest, pluralize(estate.Number(rest), "value", "values")))
	}
	if empty != "" && s.intent.Limit < 2 {
		list = append(list, "without a value: "+empty)
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if len(list) > maxInline {
		return strings.TrimRight(text, " ") + "\n\n- " + strings.Join(list, "\n- ")
	}
	return text + strings.Join(list, "; ") + "."
}

// leader states the group with the largest or smallest figure, all of them on a tie, and the next one.
func (s statement) leader(groups []estate.Group, fields, measured string) string {
	order := "most"
	if s.intent.Least {
		slices.Reverse(groups)
		order = "fewest"
	}
	if measured != "" {
		order = map[bool]string{true: "smallest", false: "largest"}[s.intent.Least]
	}
	tied := 1
	for tied < len(groups) && groups[tied].Value == groups[0].Value && groups[tied].Text == groups[0].Text {
		tied++
	}
	var leaders []string
	for _, g := range groups[:min(tied, maxStatedGroups)] {
		leaders = append(leaders, name(g.Key))
	}
	if rest := tied - len(leaders); rest > 0 {
		leaders = append(leaders, fmt.Sprintf("and %d more", rest))
	}
	subject := s.subject()
	if measured == "" {
		_, conditions, _ := strings.Cut(subject, s.noun)
		subject = s.noun + conditions
	}
	each := ""
	if tied > 1 {
		each = " each"
	}
	text := fmt.Sprintf("%s %s the %s %s: %s%s", strings.Join(leaders, ", "),
		pluralize(estate.Number(tied), "has", "have"), order,
		measured+subject, s.cell(groups[0].Cell, s.stats.Unit), each)
	if measured == "" && s.stats.Matched > 0 {
		text += fmt.Sprintf(" of %d (%s)", s.stats.Matched, percent(int(groups[0].Value), s.stats.Matched))
	}
	text += fmt.Sprintf(", among %d values of %s", max(s.stats.GroupCount, len(groups)), fields)
	if tied < len(groups) {
		text += fmt.Sprintf("; %s follows with %s", name(groups[tied].Key), s.cell(groups[tied].Cell, s.stats.Unit))
	}
	return text + "."
}

func (s statement) filtered() bool { return len(s.query.Filter)+len(s.query.AnyOf) > 0 }

// subject returns the records that were counted with their conditions.
func (s statement) subject() string {
	text := fmt.Sprintf("%d %s", s.stats.Matched, s.noun)
	if s.filtered() {
		text = fmt.Sprintf("%d of %d %s that have %s", s.stats.Matched, s.stats.Records, s.noun, s.conditions())
	}
	return text
}

// conditions returns the filter in words, as the end of "hosts have …".
func (s statement) conditions() string {
	text := conditionsOf(s.query.Filter)
	if len(s.query.AnyOf) == 0 {
		return text
	}
	var alternatives []string
	for _, filter := range s.query.AnyOf {
		alternatives = append(alternatives, conditionsOf(filter))
	}
	if text != "" {
		text += " and "
	}
	return text + strings.Join(alternatives, " or ")
}

func conditionsOf(filter estate.Filter) string {
	var list []string
	for _, field := range slices.Sorted(maps.Keys(filter)) {
		list = append(list, condition(field, filter[field]))
	}
	return strings.Join(list, " and ")
}

// comparisons are the operators of compute_stats in words.
var comparisons = map[string]string{"eq": "", "ne": "other than ", "gt": "above ", "gte": "at least ", "lt": "below ",
	"lte":      "at most ",
	"contains": "", "in": "", "starts_with": "beginning with ", "matches": "matching ", "ignore_case": ""}

// condition returns the condition on a field in words.
func condition(field string, raw []byte) string {
	var operators map[string]jsontext.Value
	if json.Unmarshal(raw, &operators) != nil || operators == nil {
		return name(field) + " " + operandText(raw)
	}
	var list []string
	for _, op := range slices.Sorted(maps.Keys(operators)) {
		value := operators[op]
		switch text := string(value); {
		case op == "ne" && text == "null", op == "exists" && text == "true":
			list = append(list, "a value of "+name(field))
		case op == "not" && text == `{"ne":null}`, op == "exists":
			list = append(list, "no "+name(field))
		case op == "not":
			list = append(list, "no "+condition(field, value))
		default:
			list = append(list, name(field)+" "+comparisons[op]+operandText(value))
		}
	}
	return strings.Join(list, " and ")
}

// operandText returns an operand in words: a text without quotes, alternatives with or.
func operandText(raw []byte) string {
	var text string
	var list []jsontext.Value
	switch {
	case string(raw) == "null":
		return "null"
	case json.Unmarshal(raw, &text) == nil:
		return name(text)
	case json.Unmarshal(raw, &list) == nil:
		var texts []string
		for _, v := range list {
			texts = append(texts, operandText(v))
		}
		return strings.Join(texts, " or ")
	}
	return name(string(raw))
}

func (s statement) cell(c estate.Cell, unit string) string {
	if c.IsText {
		return name(c.Text)
	}
	return s.number(c.Value, unit)
}

// number returns a figure in the unit that the question asks for, with up to four decimals.
func (s statement) number(n estate.Number, unit string) string {
	value := float64(n)
	if s.intent.Unit != "" && unit != "" && unit != s.intent.Unit { // a plain number may be in any unit
		if converted, ok := estate.Convert(value, unit, s.intent.Unit); ok {
			value, unit = converted, s.intent.Unit
		}
	}
	if value != math.Trunc(value) {
		value = math.Round(value*1e4) / 1e4
	}
	text := strconv.FormatFloat(value, 'f', -1, 64)
	if unit != "" {
		text += " " + unit
	}
	return text
}

// name returns a name of the estate as Markdown.
func name(text string) string {
	const maxName = 200
	return markdown.Escape(strings.Join(strings.Fields(fmt.Sprintf("%.*s", maxName, text)), " "))
}

// percent returns a share, with one decimal.
func percent(part, whole int) string {
	return strconv.FormatFloat(math.Round(float64(part)/float64(whole)*1000)/10, 'f', -1, 64) + "%"
}

func pluralize(n estate.Number, singular, plural string) string {
	if n == 1 {
		return singular
	}
	return plural
}
