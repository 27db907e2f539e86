package estate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// operatorHelp describes filter conditions to a model.
const operatorHelp = "expected a value to equal, or an object with one or more of ne gt gte lt lte in contains exists not, as in {\"gte\": 5}"

// A condition is the part of a filter that applies to one field.
type condition struct {
	field string
	tests []test
	// peers compare the field with other fields of the record.
	peers []peer
	// wants is the operand if the condition is a plain equality.
	wants  *operand
	tested bool // a record was tested
	found  bool // a tested record had the field
}

// A test evaluates a field's value; ok is false if the record lacks the field.
type test func(v operand, ok bool) bool

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

// parseAny parses alternative filters.
func parseAny(filters []map[string]json.RawMessage) (alternatives [][]*condition, err error) {
	n := 0
	for _, f := range filters {
		conditions, err := parseFilter(f)
		if n += len(conditions); err != nil || n > maxConditions {
			return nil, cmp.Or(err, fmt.Errorf("any_of: expected at most %d fields", maxConditions))
		}
		alternatives = append(alternatives, conditions)
	}
	return alternatives, nil
}

func parseFilter(filter map[string]json.RawMessage) ([]*condition, error) {
	if len(filter) > maxConditions {
		return nil, fmt.Errorf("filter: expected at most %d fields", maxConditions)
	}
	conditions := make([]*condition, 0, len(filter))
	for field, raw := range filter {
		c, err := parseCondition(field, raw)
		if err != nil {
			name := string(truncate([]byte(field), maxPathBytes))
			return nil, fmt.Errorf("filter %q: %w", name, err)
		}
		conditions = append(conditions, c)
	}
	sort.Slice(conditions, func(i, k int) bool { return conditions[i].field < conditions[k].field })
	return conditions, nil
}

func parseCondition(field string, raw json.RawMessage) (*condition, error) {
	if field == "" || len(field) > maxPathBytes {
		return nil, fmt.Errorf("expected the name of a field of at most %d bytes", maxPathBytes)
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
		if good := orders[string(op)]; good != nil && arg.kind() == kindObject {
			other, err := parsePeer(raw, string(op))
			if err != nil {
				return nil, err
			}
			c.peers = append(c.peers, peer{other, good})
			continue
		}
		t, err := parseOperator(string(op), arg, 0)
		if err != nil {
			return nil, err
		}
		c.tests = append(c.tests, t)
	}
	if len(c.tests)+len(c.peers) == 0 {
		return nil, fmt.Errorf("%s", operatorHelp)
	}
	return c, nil
}

// parsePeer returns the field of {op: {"field": name}}.
func parsePeer(raw json.RawMessage, op string) (string, error) {
	var condition map[string]json.RawMessage
	var operand struct{ Field string }
	err := cmp.Or(json.Unmarshal(raw, &condition), json.Unmarshal(condition[op], &operand))
	if err != nil || operand.Field == "" || len(operand.Field) > maxPathBytes {
		return "", fmt.Errorf("%s: expected a number, a string or {\"field\": name}", op)
	}
	return operand.Field, nil
}

// narrow returns the rows whose records meet the condition, reusing the memory of rows.
// It tests each distinct value once. The error is ctx.Err().
func (c *condition) narrow(ctx context.Context, rows []uint32, col *column, n int) ([]uint32, error) {
	c.tested = len(rows) > 0
	pass := make([]bool, codeValues+len(col.values))
	pass[codeMissing] = c.matches(operand{}, false)
	pass[codeNull] = c.matches(operand{kindNull, NullGroup}, true)
	for i, v := range col.values {
		if i%checkValues == 0 && yield(ctx, i) != nil {
			return nil, ctx.Err()
		}
		pass[codeValues+i] = c.matches(v.operand, true)
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

// compare returns the rows whose value in col and value in other, the peer's column, are
// two numbers or two strings that satisfy the comparison. It reuses the memory of rows.
func (p peer) compare(ctx context.Context, rows []uint32, col, other *column, n int) ([]uint32, error) {
	left, right := col.dense(n), other.dense(n)
	kept := rows[:0]
	for i, row := range rows {
		if i%checkValues == 0 && yield(ctx, i) != nil {
			return nil, ctx.Err()
		}
		if left[row] < codeValues || right[row] < codeValues {
			continue
		}
		v, w := col.values[left[row]-codeValues].operand, other.values[right[row]-codeValues].operand
		if v.kind != w.kind || v.kind != kindNumber && v.kind != kindString {
			continue
		}
		order := strings.Compare(v.text, w.text)
		if v.kind == kindNumber {
			order = w.numberOrder()(v.text)
		}
		if p.good(order) {
			kept = append(kept, row)
		}
	}
	return kept, nil
}

func (c *condition) matches(v operand, ok bool) bool {
	for _, t := range c.tests {
		if !t(v, ok) {
			return false
		}
	}
	return true
}

// maxNot bounds the nesting of not.
const maxNot = 4

func parseOperator(op string, arg value, depth int) (test, error) {
	want := newOperand(arg)
	switch op {
	case "ne":
		return want.differs, nil
	case "gt", "gte", "lt", "lte":
		return want.compares(orders[op], op)
	case "in":
		return parseIn(arg)
	case "contains":
		return want.contained, nil
	case "exists":
		if want.kind != kindBoolean {
			return nil, fmt.Errorf("exists: expected true or false")
		}
		return func(_ operand, ok bool) bool { return ok == (want.text == "true") }, nil
	case "not":
		return parseNot(arg, depth)
	default:
		return nil, fmt.Errorf("unknown operator %q: %s", string(truncate([]byte(op), 64)), operatorHelp)
	}
}

// parseNot returns a test that negates the conjunction of the operators.
func parseNot(arg value, depth int) (test, error) {
	if arg.kind() != kindObject || depth == maxNot {
		return nil, fmt.Errorf("not: %s", operatorHelp)
	}
	var all condition
	for op, operand := range arg.members() {
		t, err := parseOperator(string(op), operand, depth+1)
		if err != nil {
			return nil, err
		}
		all.tests = append(all.tests, t)
	}
	return func(v operand, ok bool) bool { return !all.matches(v, ok) }, nil
}

func parseIn(arg value) (test, error) {
	if arg.kind() != kindArray {
		return nil, fmt.Errorf("in: expected an array of values")
	}
	wanted := map[operand]bool{}
	for v := range arg.elements() {
		wanted[newOperand(v)] = true
	}
	return func(v operand, ok bool) bool { return ok && wanted[operand{v.kind, v.label()}] }, nil
}
