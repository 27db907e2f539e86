package estate

import (
	"encoding/json"
	"sort"
)

// MaxValues is how many distinct values a Column holds; of more, the most
// frequent.
const MaxValues = 10_000

// A Column is the values that the records of an array have in one field.
type Column struct {
	Path     string
	Records  int     // all of the array
	Missing  int     // records without the field
	Null     int     // records where it is null
	Distinct int     // distinct strings, numbers and booleans
	Values   []Value // the strings, numbers and booleans, the most frequent first
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
	if v.Type == "string" {
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

// valueSize is about what a Value takes besides its text, in bytes.
const valueSize = 64

func (e *Estate) column(a *array, path string) Column {
	return cached(&e.cache, cacheKey{array: a, path: path, column: true}, func() (Column, int) {
		c := Column{Path: path, Records: a.count}
		values, elements := counter{}, counter{}
		for record := range a.text.elements() {
			v, ok := record.field(path)
			switch {
			case !ok:
				c.Missing++
			case v.kind() == kindNull:
				c.Null++
			case v.kind() == kindArray:
				for element := range v.elements() {
					elements.add(element)
				}
			default:
				values.add(v)
			}
		}
		c.Distinct = len(values)
		c.Values, c.Elements = values.top(), elements.top()
		size := len(path) + valueSize*(2+len(c.Values)+len(c.Elements))
		for _, list := range [][]Value{c.Values, c.Elements} {
			for _, v := range list {
				size += len(v.Text)
			}
		}
		return c, size
	})
}

// counter counts distinct strings, numbers and booleans.
type counter map[string]*Value

func (c counter) add(v value) {
	k := v.kind()
	if k != kindString && k != kindNumber && k != kindBoolean {
		return
	}
	label := v.label()
	var buf [64]byte
	key := append(append(buf[:0], byte(k)), label...)
	old := c[string(key)]
	if old == nil {
		old = &Value{Text: string(label), Type: kindNames[k]}
		c[string(key)] = old
	}
	old.Count++
}

func (c counter) top() []Value {
	values := make([]Value, 0, len(c))
	for _, v := range c {
		values = append(values, *v)
	}
	sort.Slice(values, func(i, k int) bool {
		a, b := values[i], values[k]
		switch {
		case a.Count != b.Count:
			return a.Count > b.Count
		case a.Text != b.Text:
			return a.Text < b.Text
		default:
			return a.Type < b.Type
		}
	})
	if len(values) > MaxValues {
		return append([]Value(nil), values[:MaxValues]...)
	}
	return values
}
