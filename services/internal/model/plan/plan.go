package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/services/internal/estate"
)

// Plan is how a question is answered: by calls, or by one of the alternatives.
type Plan struct {
	Calls []Call
	// NotInData is the reason why the data does not contain the answer; empty: it does.
	NotInData string
	Overview  bool // the arrays, their sizes and main breakdowns
	// Conversation marks a question about the conversation itself.
	Conversation bool
}

// Call is one computation over the records of an array.
type Call struct {
	Conditions string      `json:"conditions"` // of the question, in words
	DataKey    string      `json:"data_key"`
	Filter     []Condition `json:"filter"`
	GroupBy    string      `json:"group_by"` // a field, or empty
	Metric     string      `json:"metric"`
	// Notes say how values of the plan were linked to those of the estate.
	Notes []string `json:"-"`
	// Open says what the question asks for and the call omits.
	Open []string `json:"-"`
}

// Condition selects records.
type Condition struct {
	Field string          `json:"field"`
	Op    string          `json:"op"`
	Value json.RawMessage `json:"value"`
}

// denies reports whether the condition is a negation.
func (c Condition) denies() bool {
	return c.Op == opNe || c.Op == opMissing || string(c.Value) == "false"
}

// The operators of a condition. Missing includes null.
const (
	opEq, opNe             = "eq", "ne"
	opGt, opGte            = "gt", "gte"
	opLt, opLte            = "lt", "lte"
	opContains             = "contains"
	opMissing, opPresent   = "missing", "present"
	opLacks                = "lacks" // a list without the element; only after linking
	metricCount            = "count"
	maxCalls               = 3
	maxConditions          = 4
	maxConditionsText      = 140 // characters
	maxValueText           = 80  // characters
	maxPlanBytes           = 16 << 10
	defaultNames, maxNames = 10, 100
)

var operators = []string{opEq, opNe, opGt, opGte, opLt, opLte, opContains, opMissing, opPresent}

// ErrNoPlan reports that a text is no plan.
var ErrNoPlan = errors.New("expected a plan: {\"calls\": [...]}")

// Parse reads a plan. Text around its object, such as a fence, is ignored.
func Parse(text string) (Plan, error) {
	var p Plan
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start || len(text) > maxPlanBytes {
		return p, ErrNoPlan
	}
	var root struct{ Calls []json.RawMessage }
	text = text[start : end+1]
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		return p, fmt.Errorf("%w: %w", ErrNoPlan, err)
	}
	if root.Calls == nil {
		root.Calls = []json.RawMessage{json.RawMessage(text)}
	}
	for _, raw := range root.Calls {
		var step struct {
			Call
			NotInData    *string `json:"not_in_data"`
			Overview     bool    `json:"overview"`
			Conversation *string `json:"conversation"`
		}
		if err := json.Unmarshal(raw, &step); err != nil {
			return p, fmt.Errorf("%w: %w", ErrNoPlan, err)
		}
		switch {
		case step.NotInData != nil:
			p.NotInData = *step.NotInData
		case step.Overview:
			p.Overview = true
		case step.Conversation != nil:
			p.Conversation = true
		case step.DataKey != "" && len(p.Calls) < maxCalls && !slices.ContainsFunc(p.Calls, step.Call.same):
			p.Calls = append(p.Calls, step.Call)
		}
	}
	if len(p.Calls) == 0 && p.NotInData == "" && !p.Overview && !p.Conversation {
		return p, ErrNoPlan
	}
	return p, nil
}

// JSON returns the plan as Parse reads it.
func (p Plan) JSON() json.RawMessage {
	var steps []any
	for _, c := range p.Calls {
		steps = append(steps, c)
	}
	switch {
	case p.NotInData != "":
		steps = append(steps, map[string]string{"not_in_data": p.NotInData})
	case p.Overview:
		steps = append(steps, map[string]bool{"overview": true})
	case p.Conversation:
		steps = append(steps, map[string]string{"conversation": ""})
	}
	return JSON(map[string]any{"calls": steps})
}

// Compact removes calls that compute the same as an earlier one.
func (p *Plan) Compact() {
	var calls []Call
	for _, c := range p.Calls {
		if !slices.ContainsFunc(calls, c.same) {
			calls = append(calls, c)
		}
	}
	p.Calls = calls
}

// Open returns what the question asks for and the calls omit.
func (p Plan) Open() (open []string) {
	for _, c := range p.Calls {
		open = append(open, c.Open...)
	}
	return open
}

// Revise replaces the call by that of a second plan if it has fewer problems, and keeps what is still wrong in Open.
func (c *Call) Revise(q *Question, second Plan, problems []Problem) {
	if len(second.Calls) > 0 {
		revised := second.Calls[0]
		if left := Check(q, &revised); len(left) < len(problems) {
			*c, problems = revised, left
		}
	}
	for _, problem := range problems {
		c.Open = append(c.Open, problem.Note)
	}
}

// same reports whether two calls compute the same.
func (c Call) same(o Call) bool {
	return c.DataKey == o.DataKey && c.GroupBy == o.GroupBy && c.Metric == o.Metric &&
		slices.EqualFunc(c.Filter, o.Filter,
			func(a, b Condition) bool { return a.Field == b.Field && a.Op == b.Op && bytes.Equal(a.Value, b.Value) })
}

// Query returns the arguments of compute_stats. Equalities of one field are alternatives.
func (c Call) Query(i Intent) Query {
	q := Query{DataKey: c.DataKey, GroupBy: c.GroupBy, Filter: map[string]json.RawMessage{}, Metrics: []string{c.Metric}}
	if c.Metric == "" {
		q.Metrics = []string{metricCount}
	}
	for _, field := range fieldsOf(c.Filter) {
		q.Filter[field] = operand(field, c.Filter)
	}
	if fields := fieldsOf(c.Filter); i.All && len(fields) > 1 { // the last condition is what all others have
		rest := maps.Clone(q.Filter)
		delete(rest, fields[len(fields)-1])
		q.Share = &estate.Share{Of: rest}
	}
	metric, field, _ := strings.Cut(q.Metrics[0], ":")
	switch {
	case c.GroupBy != "":
	case i.Names && (metric == "max" || metric == "min"):
		order := "desc"
		if metric == "min" {
			order = "asc"
		}
		q.Top = &estate.Top{By: field, Order: order, Limit: max(1, i.Limit)}
	case i.Names || len(c.Filter) > 0 && q.Metrics[0] == metricCount:
		q.Names = &Names{Limit: defaultNames}
		if i.Names {
			q.Names.Limit = min(maxNames, max(defaultNames, i.Limit))
		}
	}
	return q
}

// Query is the input of compute_stats.
type Query struct {
	DataKey string                     `json:"data_key"`
	GroupBy string                     `json:"group_by"`
	Filter  map[string]json.RawMessage `json:"filter"`
	Metrics []string                   `json:"metrics"`
	Names   *Names                     `json:"names,omitempty"`
	Top     *estate.Top                `json:"top,omitempty"`
	Share   *estate.Share              `json:"share,omitempty"`
}

// Names requests the names of the records that match.
type Names struct {
	Limit int `json:"limit"`
}

func fieldsOf(filter []Condition) (fields []string) {
	for _, c := range filter {
		if !slices.Contains(fields, c.Field) {
			fields = append(fields, c.Field)
		}
	}
	return fields
}

// operand returns the conditions on one field as compute_stats takes them.
func operand(field string, filter []Condition) json.RawMessage {
	var equal, different []json.RawMessage
	comparisons := map[string]json.RawMessage{}
	for _, c := range filter {
		switch {
		case c.Field != field:
		case c.Op == opEq:
			equal = append(equal, c.Value)
		case c.Op == opNe:
			different = append(different, c.Value)
		case c.Op == opLacks:
			comparisons["not"] = JSON(map[string]json.RawMessage{opContains: c.Value})
		case c.Op == opMissing:
			comparisons["not"] = json.RawMessage(`{"ne":null}`)
		case c.Op == opPresent:
			comparisons[opNe] = json.RawMessage("null")
		default:
			comparisons[c.Op] = stricter(c.Op, comparisons[c.Op], c.Value)
		}
	}
	switch {
	case len(different) == 1 && comparisons[opNe] == nil:
		comparisons[opNe] = different[0]
	case len(different) > 0:
		comparisons["not"] = JSON(map[string]any{"in": different})
	}
	switch {
	case len(equal) == 1 && len(comparisons) == 0:
		return equal[0]
	case len(equal) == 1:
		comparisons[opEq] = equal[0]
	case len(equal) > 1:
		comparisons["in"] = JSON(equal)
	}
	return JSON(comparisons)
}

// JSON returns the JSON of maps, strings and valid JSON, without escapes of HTML.
func JSON(value any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSpace(b.Bytes())
}

// stricter returns the bound that fewer values satisfy; bounds other than numbers are compared as texts.
func stricter(op string, first, second json.RawMessage) json.RawMessage {
	if first == nil {
		return second
	}
	a, b := decodeValue(first), decodeValue(second)
	x, numbers := a.(float64)
	y, both := b.(float64)
	less := fmt.Sprint(a) < fmt.Sprint(b)
	if numbers && both {
		less = x < y
	}
	if less == (op == opGt || op == opGte) {
		return second
	}
	return first
}
