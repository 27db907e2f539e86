package estate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// operatorHelp describes filter conditions to a model.
const operatorHelp = "expected a value to equal, or an object with one or more of " +
	"eq ne gt gte lt lte in contains starts_with matches exists not, as in {\"gte\": 5}"

// Bounds on regular expressions: their time grows with the product of instructions and text.
const (
	maxPattern = 256      // bytes
	maxProgram = 100      // instructions
	maxMatched = 64 << 10 // bytes of a value
)

// A condition is the part of a filter that applies to one field.
type condition struct {
	field string
	tests []test
	// peers compare the field with other fields of the record.
	peers []peer
	// wants is the operand if the condition is a plain equality.
	wants   *operand
	tested  bool // a record was tested
	present bool // a tested record had the field
}

// A test is an operator with its operand. It binds to a column before it evaluates values.
type test func(ctx context.Context, x *reader, c *column) (matcher, error)

// A matcher evaluates the value of a field, the i-th one of the column; i is notListed for null and a missing value.
type matcher func(v operand, i int) bool

const notListed = -1

// bind implements test for a matcher that does not depend on the column.
func (m matcher) bind(context.Context, *reader, *column) (matcher, error) { return m, nil }

// A peer is a field that a condition compares with.
type peer struct {
	field string
	good  func(order int) bool
}

// orders are the operators that compare.
var orders = map[string]func(order int) bool{
	"gt": func(order int) bool { return order > 0 }, "gte": func(order int) bool { return order >= 0 },
	"lt": func(order int) bool { return order < 0 }, "lte": func(order int) bool { return order <= 0 },
}

// A Filter has a condition per field: a value to equal, or {operator: value, …}. All conditions must hold.
type Filter map[string]json.RawMessage

// parseAny parses alternative filters.
func parseAny(filters []Filter) (alternatives [][]*condition, err error) {
	n := 0
	for _, f := range filters {
		conditions, err := parseFilter("any_of", f, true)
		if n += len(conditions); err != nil || n > maxConditions {
			return nil, cmp.Or(err, fmt.Errorf("any_of: expected at most %d fields", maxConditions))
		}
		alternatives = append(alternatives, conditions)
	}
	return alternatives, nil
}

// parseFilter parses the conditions of the argument called name. The values of other arrays may be operands if
// joins is set.
func parseFilter(name string, filter Filter, joins bool) ([]*condition, error) {
	if len(filter) > maxConditions {
		return nil, fmt.Errorf("%s: expected at most %d fields", name, maxConditions)
	}
	conditions := make([]*condition, 0, len(filter))
	for field, raw := range filter {
		c, err := parseCondition(field, raw, joins)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", name, string(truncate([]byte(field), maxPathBytes)), err)
		}
		conditions = append(conditions, c)
	}
	slices.SortFunc(conditions, func(a, b *condition) int { return strings.Compare(a.field, b.field) })
	return conditions, nil
}

func parseCondition(field string, raw json.RawMessage, joins bool) (*condition, error) {
	if field == "" || len(field) > maxPathBytes {
		return nil, fmt.Errorf("expected the name of a field of at most %d bytes", maxPathBytes)
	}
	if !json.Valid(raw) {
		return nil, errors.New("expected JSON")
	}
	v := value(valid(bytes.TrimSpace(raw)))
	p := operatorParser{joins: joins}
	if v.kind() != kindObject {
		want := newOperand(v)
		return &condition{field: field, tests: []test{p.folded(want, operand.equals)}, wants: &want}, nil
	}
	c := &condition{field: field}
	tests, err := p.parse(v, c)
	c.tests = tests
	return c, err
}

// operatorParser parses the operators of a condition.
type operatorParser struct {
	joins bool // values of other arrays may be operands
	fold  bool // texts are compared without case
	depth int  // of not
}

// maxNot bounds the nesting of not.
const maxNot = 4

// parse parses an object of operators, which must all hold. Comparisons with fields are added to c, which is nil
// inside not.
func (p operatorParser) parse(v value, c *condition) (tests []test, err error) {
	for op, operand := range v.members() {
		if string(op) == "ignore_case" {
			if operand.kind() != kindBoolean {
				return nil, fmt.Errorf("ignore_case: expected true or false")
			}
			p.fold = operand[0] == 't'
		}
	}
	peers := 0
	for op, operand := range v.members() {
		good := orders[string(op)]
		switch {
		case string(op) == "ignore_case":
		case good != nil && operand.kind() == kindObject && c != nil && !p.fold:
			field, err := parsePeer(string(op), operand)
			if err != nil {
				return nil, err
			}
			c.peers = append(c.peers, peer{field, good})
			peers++
		default:
			t, err := p.operator(string(op), operand)
			if err != nil {
				return nil, err
			}
			tests = append(tests, t)
			if want := newOperand(operand); string(op) == "eq" && c != nil && !p.fold {
				c.wants = &want
			}
		}
	}
	if len(tests)+peers == 0 {
		return nil, fmt.Errorf("%s", operatorHelp)
	}
	return tests, nil
}

// parsePeer returns the field of {"field": name}, the operand of op.
func parsePeer(op string, v value) (string, error) {
	var operand struct{ Field string }
	if err := json.Unmarshal(v, &operand); err != nil || operand.Field == "" || len(operand.Field) > maxPathBytes {
		return "", fmt.Errorf("%s: expected a number, a text, a date or {\"field\": name}", op)
	}
	return operand.Field, nil
}

func (p operatorParser) operator(op string, arg value) (test, error) {
	want := newOperand(arg)
	switch op {
	case "eq":
		return p.folded(want, operand.equals), nil
	case "ne":
		return p.folded(want, operand.differs), nil
	case "gt", "gte", "lt", "lte":
		if want.kind != kindNumber && want.kind != kindString {
			return nil, fmt.Errorf("%s: expected a number or a string", op)
		}
		if p.fold {
			return nil, fmt.Errorf("%s: ignore_case applies to eq, ne, in with values, contains, starts_with and matches", op)
		}
		return comparison{op, want, orders[op]}.bind, nil
	case "in":
		return p.in(arg)
	case "contains":
		return p.folded(want, operand.contained), nil
	case "starts_with":
		if want.kind != kindString {
			return nil, fmt.Errorf("starts_with: expected a text")
		}
		return p.folded(want, operand.begins), nil
	case "matches":
		return p.pattern(want)
	case "exists":
		if want.kind != kindBoolean {
			return nil, fmt.Errorf("exists: expected true or false")
		}
		return matcher(func(v operand, _ int) bool { return (v.kind != kindNone) == (want.text == "true") }).bind, nil
	case "not":
		return p.not(arg)
	default:
		return nil, fmt.Errorf("unknown operator %q: %s", string(truncate([]byte(op), 64)), operatorHelp)
	}
}

// folded returns the test by a relation of want to a value, both in lower case if case is ignored.
func (p operatorParser) folded(want operand, holds func(want, v operand) bool) test {
	if !p.fold {
		return matcher(func(v operand, _ int) bool { return holds(want, v) }).bind
	}
	want = want.lower()
	return matcher(func(v operand, _ int) bool { return holds(want, v.lower()) }).bind
}

func (p operatorParser) pattern(want operand) (test, error) {
	if want.kind != kindString || len(want.text) > maxPattern {
		return nil, fmt.Errorf("matches: expected a regular expression of at most %d bytes", maxPattern)
	}
	text := want.text
	if p.fold {
		text = "(?i)" + text
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("matches: %w", err)
	}
	if program, err := syntax.Compile(parsed.Simplify()); err != nil || len(program.Inst) > maxProgram {
		return nil, fmt.Errorf("matches: the expression has %d instructions, expected at most %d",
			len(program.Inst), maxProgram)
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("matches: %w", err)
	}
	return func(_ context.Context, x *reader, col *column) (matcher, error) {
		if col.longest() > maxMatched {
			return nil, fmt.Errorf("matches: %q has a value of more than %d bytes", col.path, maxMatched)
		}
		return func(v operand, _ int) bool { return v.hasText(pattern.MatchString) }, nil
	}, nil
}

// not returns a test that negates the conjunction of the operators.
func (p operatorParser) not(arg value) (test, error) {
	if arg.kind() != kindObject || p.depth == maxNot {
		return nil, fmt.Errorf("not: %s", operatorHelp)
	}
	p.depth++
	tests, err := p.parse(arg, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, x *reader, c *column) (matcher, error) {
		conjunction, err := bindAll(ctx, x, c, tests)
		return func(v operand, i int) bool { return !conjunction(v, i) }, err
	}, nil
}

// bindAll returns the conjunction of tests.
func bindAll(ctx context.Context, x *reader, c *column, tests []test) (matcher, error) {
	matchers := make([]matcher, len(tests))
	for i, t := range tests {
		var err error
		if matchers[i], err = t(ctx, x, c); err != nil {
			return nil, err
		}
	}
	return func(v operand, i int) bool {
		for _, m := range matchers {
			if !m(v, i) {
				return false
			}
		}
		return true
	}, nil
}

// in returns the test for one of the values of a list, or of a field of another array.
func (p operatorParser) in(arg value) (test, error) {
	switch {
	case arg.kind() == kindObject && p.joins && !p.fold:
		return parseJoin(arg)
	case arg.kind() != kindArray:
		return nil, errors.New(`in: expected an array of values, or {"data_key", "field", "filter"} of another array`)
	}
	wanted := map[operand]bool{}
	for v := range arg.elements() {
		if o := newOperand(v); p.fold {
			wanted[o.lower()] = true
		} else {
			wanted[o] = true
		}
	}
	return matcher(func(v operand, _ int) bool {
		if p.fold {
			v = v.lower()
		}
		return wanted[operand{v.kind, v.label()}]
	}).bind, nil
}

// join has the values of a field of another array.
type join struct {
	dataKey string
	field   string
	filter  []*condition
}

func parseJoin(arg value) (test, error) {
	var given struct {
		DataKey string `json:"data_key"`
		Field   string `json:"field"`
		Filter  Filter `json:"filter"`
	}
	decoder := json.NewDecoder(bytes.NewReader(arg))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&given); err != nil || given.Field == "" || len(given.Field) > maxPathBytes {
		return nil, errors.New(`in: expected {"data_key": array, "field": name, "filter": object}, the filter optional`)
	}
	conditions, err := parseFilter("in filter", given.Filter, false)
	if err != nil {
		return nil, err
	}
	return join{given.DataKey, given.Field, conditions}.bind, nil
}

// bind reads the values of the other array. A list matches if one of its elements is among them.
func (j join) bind(ctx context.Context, x *reader, left *column) (matcher, error) {
	a, err := x.estate.find(j.dataKey)
	if err != nil {
		return nil, err
	}
	s := selection{reader: x, array: a}
	if err := s.all(ctx); err != nil {
		return nil, err
	}
	if err := s.narrow(ctx, j.filter); err != nil {
		return nil, err
	}
	col, err := x.column(ctx, a, j.field)
	if err != nil {
		return nil, err
	}
	for _, c := range j.filter {
		if c.tested && !c.present {
			x.notes = append(x.notes, fmt.Sprintf("no record of %q has the field %q", a.key, c.field))
		}
	}
	if left.types&col.types&^(1<<kindNull) == 0 && left.types&(1<<kindArray) == 0 && len(left.values) > 0 {
		x.notes = append(x.notes, fmt.Sprintf("%q and %q of %q have values of different types: in is strict in type",
			left.path, j.field, a.key))
	}
	if len(col.codes) == 0 {
		return nil, fmt.Errorf("in: no record of %q has the field %q; the fields are %s", a.key, j.field, list(a.paths()))
	}
	const wantedSize = 64
	if err := x.acquire(wantedSize * len(col.values)); err != nil {
		return nil, err
	}
	wanted := make(map[operand]bool, len(col.values))
	codes := col.dense(a.count)
	for i, row := range s.rows {
		if i%checkRows == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if code := codes[row]; code >= codeValues {
			col.values[code-codeValues].operand.each(func(v operand) { wanted[v] = true })
		}
	}
	return func(v operand, _ int) (matched bool) {
		v.each(func(v operand) { matched = matched || wanted[v] })
		return matched
	}, nil
}

// A comparison is gt, gte, lt or lte with a number or a text.
type comparison struct {
	op   string
	want operand
	good func(order int) bool
}

// bind compares numbers, quantities and dates as such if the column has only these, in text too. Otherwise numbers
// compare numerically and texts bytewise. Operands that no value compares with are refused.
func (c comparison) bind(ctx context.Context, x *reader, col *column) (matcher, error) {
	r, err := col.reading.Get(ctx)
	if err != nil {
		return nil, err
	}
	text, isNumber := c.want.decimal()
	bound, isBound := r.bound(c.want)
	instant, isTime := parseBound(c.want)
	switch {
	case r.kind == asNumber && isNumber:
		order := operand{kindNumber, text}.numberOrder()
		return func(v operand, _ int) bool {
			text, ok := v.decimal()
			return ok && c.good(order(text))
		}, nil
	case r.kind == asDate && r.times == nil && isTime:
		return func(v operand, _ int) bool {
			date, ok := epoch(v)
			return ok && c.good(date.Compare(instant))
		}, nil
	case isBound:
		return func(_ operand, i int) bool {
			return i >= 0 && r.numbers[i] == r.numbers[i] && c.good(cmp.Compare(r.numbers[i], bound))
		}, nil
	case r.kind == asQuantity:
		return nil, c.refuse(col, "quantities; expected one with a unit, as in 1"+r.unit)
	case r.kind == asNumber && !r.text:
		return nil, c.refuse(col, "numbers; expected a number")
	case r.times != nil && c.want.kind == kindNumber:
		return nil, c.refuse(col, "dates; expected a date, as in 2026-01-31")
	}
	if m := c.partial(x, col); m != nil {
		return m, nil
	}
	if r.kind == asText && c.want.kind == kindNumber {
		return nil, c.refuse(col, "texts; expected a text")
	}
	if r.kind == asDate && len(c.want.text) > 1 { // shorter texts precede or follow all dates
		x.notes = append(x.notes, fmt.Sprintf("%q is no date: it is compared with %q as a text", c.want.text, col.path))
	}
	return func(v operand, _ int) bool {
		return v.kind == kindString && c.want.kind == kindString && c.good(strings.Compare(v.text, c.want.text))
	}, nil
}

// partial compares a number, a date or a quantity with the values of the column that read as such, and notes how
// many do not. It returns nil for other operands, and if no value does.
func (c comparison) partial(x *reader, col *column) matcher {
	var order func(v operand) (order int, ok bool)
	want, units, isQuantity := c.want.size()
	instant, isTime := parseBound(c.want)
	switch {
	case c.want.kind == kindNumber:
		compare := c.want.numberOrder()
		order = func(v operand) (int, bool) {
			text, ok := v.decimal()
			if !ok || v.kind == kindString && col.types&(1<<kindNumber) != 0 {
				return 0, false // numbers in text count if there are no others
			}
			return compare(text), true
		}
	case isTime:
		order = func(v operand) (int, bool) {
			date, ok := parseTime(v)
			return date.Compare(instant), ok
		}
	case isQuantity:
		order = func(v operand) (int, bool) {
			size, family, ok := v.size()
			return cmp.Compare(size, want), ok && family == units
		}
	default:
		return nil
	}
	read, skipped := 0, 0
	for _, v := range col.values {
		if _, ok := order(v.operand); ok {
			read += int(v.count)
		} else if !v.isBlank() {
			skipped += int(v.count)
		}
	}
	if read == 0 {
		return nil
	}
	if skipped > 0 {
		x.notes = append(x.notes, fmt.Sprintf("values of %q that do not compare with %s and do not match: %d",
			col.path, c.want.text, skipped))
	}
	return func(v operand, _ int) bool {
		n, ok := order(v)
		return ok && c.good(n)
	}
}

// refuse returns the error for an operand that no value of a column compares with.
func (c comparison) refuse(col *column, values string) error {
	return fmt.Errorf("%s: the values of %q are %s", c.op, col.path, values)
}

// compare returns the rows whose value in col and value in counterpart, the peer's column, are
// two numbers, two quantities, two dates or two strings that satisfy the comparison. It reuses the memory of rows.
func (p peer) compare(ctx context.Context, rows []uint32, col, counterpart *column, n int) ([]uint32, error) {
	left, right := col.dense(n), counterpart.dense(n)
	first, err := col.reading.Get(ctx)
	if err != nil {
		return nil, err
	}
	second, err := counterpart.reading.Get(ctx)
	if err != nil {
		return nil, err
	}
	kept := rows[:0]
	for i, row := range rows {
		if i%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if left[row] < codeValues || right[row] < codeValues {
			continue
		}
		k, l := int(left[row]-codeValues), int(right[row]-codeValues)
		order, ok := compareValues(col.values[k].operand, first, k, counterpart.values[l].operand, second, l)
		if ok && p.good(order) {
			kept = append(kept, row)
		}
	}
	return kept, nil
}

// compareValues compares v, the k-th value of a column with reading r, with w, the l-th one of another column with
// reading s: as dates or quantities if both are, as numbers, or as texts.
func compareValues(v operand, r reading, k int, w operand, s reading, l int) (order int, ok bool) {
	switch x, isNumber := v.decimal(); {
	case r.kind == asDate && s.kind == asDate:
		t, ok := r.time(v, k)
		u, isDate := s.time(w, l)
		return t.Compare(u), ok && isDate
	case r.kind == asQuantity && s.kind == asQuantity:
		_, same := s.units[r.unit]
		x, y := r.numbers[k]*r.factor, s.numbers[l]*s.factor
		return cmp.Compare(x, y), same && x == x && y == y
	case r.kind == asNumber && s.kind == asNumber || v.kind == kindNumber && w.kind == kindNumber:
		y, ok := w.decimal()
		if !isNumber || !ok {
			return 0, false
		}
		return operand{kindNumber, y}.numberOrder()(x), true
	default:
		return strings.Compare(v.text, w.text), v.kind == kindString && w.kind == kindString
	}
}

// narrow returns the selected rows whose records meet the condition, reusing their memory.
// It tests each distinct value once. The error may be ctx.Err().
func (c *condition) narrow(ctx context.Context, s *selection, col *column) ([]uint32, error) {
	matches, err := bindAll(ctx, s.reader, col, c.tests)
	if err != nil {
		return nil, fmt.Errorf("filter %q: %w", c.field, err)
	}
	rows := s.rows
	c.tested = c.tested || len(rows) > 0
	pass := make([]bool, codeValues+len(col.values))
	pass[codeMissing] = matches(operand{kind: kindNone}, notListed)
	pass[codeNull] = matches(operand{kindNull, NullGroup}, notListed)
	for i, v := range col.values {
		if i%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(v.text) > maxSampleBytes && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		pass[codeValues+i] = matches(v.operand, i)
	}
	codes := col.dense(s.array.count)
	kept := rows[:0]
	for _, row := range rows {
		code := codes[row]
		c.present = c.present || code != codeMissing
		if pass[code] {
			kept = append(kept, row)
		}
	}
	return kept, nil
}
