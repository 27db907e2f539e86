package estate

import (
	"encoding/json"
	"math"
	"slices"
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

// counter counts distinct strings, numbers and booleans.
type counter struct {
	list    []Value // in order of appearance
	last    int     // the one counted last: records often come sorted
	strings map[string]int
	others  map[string]int
}

func (c *counter) add(v value) {
	k := v.kind()
	places := &c.others
	switch k {
	case kindString:
		places = &c.strings
	case kindNumber, kindBoolean:
	default:
		return
	}
	label, name := v.label(), kindNames[k]
	if c.last < len(c.list) && c.list[c.last].Text == string(label) && c.list[c.last].Type == name {
		c.list[c.last].Count++
		return
	}
	at, ok := (*places)[string(label)]
	if !ok {
		if *places == nil {
			*places = map[string]int{}
		}
		at = len(c.list)
		c.list = append(c.list, Value{Text: share(label), Type: name})
		(*places)[c.list[at].Text] = at
	}
	c.list[at].Count++
	c.last = at
}

// top returns the values, the most frequent first.
func (c *counter) top() []Value {
	// Sorting numbers made of count and place is many times faster than
	// sorting the values.
	order := make([]uint64, len(c.list))
	for i, v := range c.list {
		order[i] = uint64(math.MaxUint32-v.Count)<<32 | uint64(i)
	}
	slices.Sort(order)
	values := make([]Value, min(len(c.list), MaxValues))
	for i := range values {
		values[i] = c.list[uint32(order[i])]
	}
	return values
}
