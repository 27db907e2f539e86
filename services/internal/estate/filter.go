package estate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// operatorHelp describes filter conditions to a model.
const operatorHelp = "want a value to equal, or an object with one or more of ne gt gte lt lte in contains exists, as in {\"gte\": 5}"

// A condition is the part of a filter that applies to one field.
type condition struct {
	field string
	tests []test
	// wants is the operand if the condition is a plain equality.
	wants  *operand
	tested bool // a record was tested
	found  bool // a tested record had the field
}

// A test evaluates a field's value; ok is false if the record lacks the field.
type test func(v operand, ok bool) bool

func parseFilter(filter map[string]json.RawMessage) ([]*condition, error) {
	if len(filter) > maxConditions {
		return nil, fmt.Errorf("filter: want at most %d fields", maxConditions)
	}
	conditions := make([]*condition, 0, len(filter))
	for field, raw := range filter {
		c, err := parseCondition(field, raw)
		if err != nil {
			name := string(shorten([]byte(field), maxPathBytes))
			return nil, fmt.Errorf("filter %q: %w", name, err)
		}
		conditions = append(conditions, c)
	}
	sort.Slice(conditions, func(i, k int) bool { return conditions[i].field < conditions[k].field })
	return conditions, nil
}

func parseCondition(field string, raw json.RawMessage) (*condition, error) {
	if field == "" || len(field) > maxPathBytes {
		return nil, fmt.Errorf("want the name of a field of at most %d bytes", maxPathBytes)
	}
	s := scanner{text: raw}
	if err := s.document(func(i int) int { return s.value(i, 0) }); err != nil {
		return nil, err
	}
	v := value(valid(bytes.TrimSpace(raw)))
	if v.kind() != kindObject {
		want := newOperand(v)
		return &condition{field: field, tests: []test{want.equals}, wants: &want}, nil
	}
	c := &condition{field: field}
	for op, arg := range v.members() {
		t, err := parseOperator(string(op), arg)
		if err != nil {
			return nil, err
		}
		c.tests = append(c.tests, t)
	}
	if len(c.tests) == 0 {
		return nil, fmt.Errorf("%s", operatorHelp)
	}
	return c, nil
}

// narrow returns the rows whose records meet the condition, reusing the memory of rows.
// It tests each distinct value once. The error is ctx.Err().
func (c *condition) narrow(ctx context.Context, rows []uint32, col *column, n int) ([]uint32, error) {
	c.tested = len(rows) > 0
	pass := make([]bool, codeValues+len(col.values))
	pass[codeMissing] = c.holds(operand{}, false)
	pass[codeNull] = c.holds(operand{kindNull, NullGroup}, true)
	for i, v := range col.values {
		if i%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		pass[codeValues+i] = c.holds(v.operand, true)
	}
	codes := col.dense(n)
	kept := rows[:0]
	for _, row := range rows {
		code := codes[row]
		c.found = c.found || code != codeMissing
		if pass[code] {
			kept = append(kept, row)
		}
	}
	return kept, nil
}

func (c *condition) holds(v operand, ok bool) bool {
	for _, t := range c.tests {
		if !t(v, ok) {
			return false
		}
	}
	return true
}

func parseOperator(op string, arg value) (test, error) {
	want := newOperand(arg)
	switch op {
	case "ne":
		return want.differs, nil
	case "gt":
		return want.compares(func(order int) bool { return order > 0 }, op)
	case "gte":
		return want.compares(func(order int) bool { return order >= 0 }, op)
	case "lt":
		return want.compares(func(order int) bool { return order < 0 }, op)
	case "lte":
		return want.compares(func(order int) bool { return order <= 0 }, op)
	case "in":
		return parseIn(arg)
	case "contains":
		return want.contained, nil
	case "exists":
		if want.kind != kindBoolean {
			return nil, fmt.Errorf("exists: want true or false")
		}
		return func(_ operand, ok bool) bool { return ok == (want.text == "true") }, nil
	default:
		return nil, fmt.Errorf("unknown operator %q: %s", string(shorten([]byte(op), 64)), operatorHelp)
	}
}

func parseIn(arg value) (test, error) {
	if arg.kind() != kindArray {
		return nil, fmt.Errorf("in: want an array of values")
	}
	wanted := map[operand]bool{}
	for v := range arg.elements() {
		wanted[newOperand(v)] = true
	}
	return func(v operand, ok bool) bool { return ok && wanted[operand{v.kind, v.label()}] }, nil
}

func (o operand) equals(v operand, ok bool) bool {
	return ok && v.kind == o.kind && v.label() == o.text
}

// differs treats a missing value as null: it differs from every other value, and
// {"ne": null} selects the records with a value.
func (o operand) differs(v operand, ok bool) bool {
	if !ok {
		return o.kind != kindNull
	}
	return !o.equals(v, ok)
}

// compares orders numbers numerically and strings bytewise, which suits ISO dates. Other
// pairs are unordered and do not match.
func (o operand) compares(good func(order int) bool, op string) (test, error) {
	switch o.kind {
	case kindNumber:
		order := o.numberOrder()
		return func(v operand, ok bool) bool { return ok && v.kind == kindNumber && good(order(v.text)) }, nil
	case kindString:
		return func(v operand, ok bool) bool {
			return ok && v.kind == kindString && good(strings.Compare(v.text, o.text))
		}, nil
	default:
		return nil, fmt.Errorf("%s: want a number or a string", op)
	}
}

// numberOrder compares a number with o: 64-bit integers exactly, other numbers as
// float64.
func (o operand) numberOrder() func(text string) int {
	k, err := strconv.ParseInt(o.text, 10, 64)
	g, _ := strconv.ParseFloat(o.text, 64) // out of range it is infinite, which orders correctly
	return func(text string) int {
		if err == nil && isPlainInteger(text) {
			if i, err := strconv.ParseInt(text, 10, 64); err == nil {
				return cmp.Compare(i, k)
			}
		}
		f, _ := strconv.ParseFloat(text, 64)
		return cmp.Compare(f, g)
	}
}

// contained reports whether a string contains the text, or an array the value.
func (o operand) contained(v operand, ok bool) bool {
	switch {
	case !ok:
		return false
	case v.kind == kindString:
		return o.kind == kindString && strings.Contains(v.text, o.text)
	case v.kind == kindArray:
		for element := range value(v.text).elements() {
			if element.kind() == o.kind && string(element.label()) == o.text {
				return true
			}
		}
	}
	return false
}
