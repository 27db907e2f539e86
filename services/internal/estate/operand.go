package estate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An operand is a comparable value: the label of a scalar, or the text of an array or
// object as written.
type operand struct {
	kind kind
	text string
}

func newOperand(v value) operand { return operand{v.kind(), string(v.label())} }

func (o operand) scalar() bool { return o.kind < kindNull }

// label returns the canonical text of the operand: operands of a kind are equal if their
// labels are.
func (o operand) label() string {
	if o.kind == kindArray || o.kind == kindObject {
		return string(canonical(value(o.text)))
	}
	return o.text
}

// float returns the number as float64, or NaN.
func (o operand) float() float64 {
	if o.kind == kindNumber {
		if f, err := strconv.ParseFloat(o.text, 64); err == nil {
			return f
		}
	}
	return math.NaN()
}

func (o operand) equals(v operand) bool { return v.kind == o.kind && v.label() == o.text }

// differs treats a missing value as null: it differs from every other value, and
// {"ne": null} selects the records with a value.
func (o operand) differs(v operand) bool {
	if v.kind == kindNone {
		return o.kind != kindNull
	}
	return !o.equals(v)
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
func (o operand) contained(v operand) bool {
	if v.kind == kindArray {
		for element := range value(v.text).elements() {
			if element.kind() == o.kind && string(element.label()) == o.text {
				return true
			}
		}
	}
	return v.kind == kindString && o.kind == kindString && strings.Contains(v.text, o.text)
}

// note lists the values of a column if o is not one of them.
func (o operand) note(field string, c *Column) string {
	if len(c.Elements) > 0 {
		return fmt.Sprintf("%q has arrays: use {\"contains\": value} to match elements", field)
	}
	for _, v := range c.Values {
		if v.Text == o.text && v.Type != kindNames[o.kind] {
			return fmt.Sprintf("%q has %s as a %s: equality is strict in type",
				field, truncate(v.JSON(), maxSampleString), v.Type)
		}
	}
	occurs := c.Null > 0 && o.kind == kindNull ||
		slices.ContainsFunc(c.Values, func(v Value) bool { return v.operand() == o })
	if occurs || len(c.Values) == 0 || len(c.Values) < c.Distinct {
		return ""
	}
	var values []string
	for _, v := range c.Values[:min(maxNoteValues, len(c.Values))] {
		values = append(values, string(truncate(v.JSON(), maxSampleString)))
	}
	if rest := c.Distinct - len(values); rest > 0 {
		values = append(values, fmt.Sprintf("… %d more", rest))
	}
	return fmt.Sprintf("no record has that value of %q; its values are %s", field, strings.Join(values, ", "))
}

// lower returns a text, or the texts of a list, in lower case.
func (o operand) lower() operand {
	if o.kind == kindString || o.kind == kindArray {
		o.text = strings.ToLower(o.label()) // the label of a list has no escapes of letters
	}
	return o
}

// each calls use with the label of the value, or of each element of a list of scalars.
func (o operand) each(use func(operand)) {
	if !o.isList() {
		use(operand{o.kind, o.label()})
		return
	}
	for element := range value(o.text).elements() {
		use(newOperand(element))
	}
}

// hasText reports whether the text, or a text of the list, is good.
func (o operand) hasText(good func(text string) bool) bool {
	return o.kind == kindString && good(o.text) ||
		o.hasElement(func(element value) bool { return element.kind() == kindString && good(string(element.content())) })
}

// hasElement reports whether the value is an array with an element that is good.
func (o operand) hasElement(good func(element value) bool) bool {
	if o.kind == kindArray {
		for element := range value(o.text).elements() {
			if good(element) {
				return true
			}
		}
	}
	return false
}

// begins reports whether a text, or an element of a list, begins with the text.
func (o operand) begins(v operand) bool {
	return v.hasText(func(text string) bool { return strings.HasPrefix(text, o.text) })
}

// isBlank reports whether the value is a text that stands for no value.
func (o operand) isBlank() bool {
	if o.kind != kindString || len(o.text) > 8 {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(o.text)) {
	case "", "-", "nan", "n/a", "na", "none", "never", "null", "inf", "+inf", "-inf", "unknown":
		return true
	}
	return false
}

// number returns a number, or a text that is a decimal number.
func (o operand) number() (float64, bool) {
	text, ok := o.decimal()
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// decimal returns the JSON text of a number, or of a text that is a decimal number, as in
// 1,024 and +5.
func (o operand) decimal() (string, bool) {
	if o.kind == kindNumber {
		return o.text, true
	}
	const longest = 64 // bytes
	if o.kind != kindString || len(o.text) > longest || !strings.ContainsAny(o.text, "0123456789") {
		return "", false
	}
	parts := decimalText.FindStringSubmatch(o.text)
	if parts == nil {
		return "", false
	}
	whole := cmp.Or(strings.ReplaceAll(parts[2], ",", ""), "0")
	return strings.TrimPrefix(parts[1], "+") + whole + parts[3] + parts[4], true
}

// quantity splits a number with a unit, as in 128Mi and 1.5 GB.
func (o operand) quantity() (number float64, unit string, ok bool) {
	if o.kind == kindNumber {
		number, ok = o.number()
		return number, "", ok
	}
	if o.kind != kindString || len(o.text) > 64 {
		return 0, "", false
	}
	text := strings.TrimSpace(o.text)
	end := len(text)
	for end > 0 && !isDigit(text[end-1]) {
		end--
	}
	number, ok = operand{kindString, text[:end]}.number()
	return number, strings.TrimSpace(text[end:]), ok
}

// size returns a quantity with a unit in the unit of size 1, and the index of its family.
func (o operand) size() (size float64, units int, ok bool) {
	number, unit, ok := o.quantity()
	for i, f := range families {
		if factor, isUnit := f[unit]; ok && isUnit && unit != "" {
			return number * factor, i, true
		}
	}
	return 0, 0, false
}

// isList reports whether the value is an array of scalars.
func (o operand) isList() bool {
	return o.kind == kindArray && !o.hasElement(func(element value) bool { return element.kind() >= kindArray })
}
