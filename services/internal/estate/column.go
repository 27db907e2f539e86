package estate

import (
	"encoding/json"
)

// MaxValues is how many distinct values a Column holds; of more, the most
// frequent.
const MaxValues = 10_000

// A Column is the values that the records of an array have in one field.
type Column struct {
	Path     string
	Records  int // all of the array
	Missing  int // records without the field
	Null     int // records where it is null
	Distinct int // distinct strings, numbers and booleans
	// Values are the strings, numbers and booleans, the most frequent first,
	// then in order of appearance.
	Values []Value
	// Elements are the strings, numbers and booleans inside of array values,
	// counted per element; the filter operator contains finds them.
	Elements []Value
}

// A Value is a distinct value and how often it is there.
type Value struct {
	Text  string // as the group it makes is called
	Type  string // string, number or boolean
	Count int
}

// JSON is the value as a filter wants it.
func (v Value) JSON() json.RawMessage {
	if v.Type == kindNames[kindString] {
		return quote([]byte(v.Text))
	}
	return json.RawMessage(v.Text)
}

func (v Value) operand() operand { return newOperand(value(v.JSON())) }

// Column returns the values of the field at path. A field that no record has
// gives a column without values. The error is an *UnknownKeyError. The caller
// must not change the result.
func (e *Estate) Column(key, path string) (Column, error) {
	a, err := e.find(key)
	if err != nil {
		return Column{}, err
	}
	return e.column(a, path), nil
}

func (e *Estate) column(a *array, path string) Column {
	if c := e.profile(a).columns[path]; c != nil {
		return *c
	}
	n := a.scan(path)
	return n.column(path, len(a.starts))
}

// scan asks each record for the one field.
func (a *array) scan(path string) (n fieldNode) {
	for record := range a.records() {
		if v, ok := record.field(path); ok {
			n.see(v)
		}
	}
	return n
}
