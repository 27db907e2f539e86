package offline

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"cairn/services/internal/estate"
)

// array is an array of the estate, as far as planning looks at it.
type array struct {
	key    string
	parts  []part
	estate *estate.Estate
	fields func() []*field
}

// field is a field of an array's records.
type field struct {
	path   string
	parts  []part
	types  []string
	column func() column
}

// column is the dictionary of a field.
type column struct {
	values   []value
	elements []value // inside of lists
	records  int     // that have a value
	distinct int
	nulls    int // records where it is null
	missing  int // records without it
}

// value is one value that a field has.
type value struct {
	text  string // as a result's group is named
	kind  string // string, number or boolean
	count int
}

// json is the value as a filter wants it. Few of a column's values are asked
// for.
func (v value) json() json.RawMessage {
	return estate.Value{Text: v.text, Type: v.kind}.JSON()
}

// openArrays lists the arrays. Fields and columns are read when needed.
func openArrays(e *estate.Estate) []*array {
	var out []*array
	for _, key := range e.Keys() {
		a := &array{key: key, parts: parts(key), estate: e}
		a.fields = sync.OnceValue(a.readFields)
		out = append(out, a)
	}
	return out
}

func (a *array) readFields() []*field {
	var out []*field
	all := a.estate.Fields(a.key)
	for _, f := range all {
		if spokenFor(f, all) {
			continue
		}
		fd := &field{path: f.Path, parts: parts(f.Path), types: f.Types}
		fd.column = sync.OnceValue(func() column { return readColumn(a.estate.Column(a.key, f.Path)) })
		out = append(out, fd)
	}
	return out
}

// spokenFor says whether f is an object in which a scalar stands for it all:
// "networkPolicy.enabled", "numa.is_numa".
func spokenFor(f estate.Field, all []estate.Field) bool {
	if f.Scalar() {
		return false
	}
	own := set(strings.Join(nameParts(f.Path[strings.LastIndex(f.Path, ".")+1:]), " "))
	for _, child := range all {
		leaf, ok := strings.CutPrefix(child.Path, f.Path+".")
		if !ok || !child.Scalar() || strings.Contains(leaf, ".") {
			continue
		}
		if !slices.ContainsFunc(nameParts(leaf), func(w string) bool { return !own[w] && !vague[stem(w)] }) {
			return true
		}
	}
	return false
}

func readColumn(c estate.Column, err error) column {
	out := column{distinct: c.Distinct, nulls: c.Null, missing: c.Missing}
	if err != nil {
		return out
	}
	for _, v := range c.Values {
		out.values = append(out.values, value{v.Text, v.Type, v.Count})
		out.records += v.Count
	}
	for _, v := range c.Elements {
		if v.Type == "string" {
			out.elements = append(out.elements, value{v.Text, v.Type, v.Count})
		}
	}
	return out
}

func (f *field) has(kind string) bool { return slices.Contains(f.types, kind) }

// textual says whether the field has strings.
func (f *field) textual() bool { return f.has("string") }

// numeric says whether the field has numbers.
func (f *field) numeric() bool { return f.has("number") }

// flag says whether the field is true or false and nothing else.
func (f *field) flag() bool { return f.has("boolean") && !f.textual() && !f.numeric() }

// values are the values of the field that are not null.
func (f *field) values() []value { return f.column().values }

// quantity says whether the field is a number of things, by its name.
func (f *field) quantity() bool {
	return f.numeric() && slices.ContainsFunc(f.parts, func(p part) bool { return quantities[p.stem] })
}

// listed says whether the field has lists of texts.
func (f *field) listed() bool {
	return f.has("array") && !f.textual() && len(f.column().elements) > 0
}

// identifying says whether nearly every record has a value of its own.
func (f *field) identifying() bool {
	c := f.column()
	return len(c.values) > 20 && 5*len(c.values) > 4*c.records
}

// polar gives the values by which a field of texts says yes and no.
func (f *field) polar() (yes, no string, ok bool) {
	if !f.textual() || f.column().distinct != 2 {
		return "", "", false
	}
	for _, v := range f.values() {
		low := strings.ToLower(v.text)
		if affirmative[low] {
			yes = v.text
		}
		if negative[low] {
			no = v.text
		}
	}
	return yes, no, yes != "" && no != ""
}

// find gives the value with that text.
func (f *field) find(text string) []value {
	i := slices.IndexFunc(f.values(), func(v value) bool { return v.text == text })
	return f.values()[i : i+1]
}

// sparse says whether some records have no value.
func (f *field) sparse() bool { return f.column().nulls+f.column().missing > 0 }

// hollow says whether no record has a value.
func (f *field) hollow() bool {
	return !slices.ContainsFunc(f.types, func(t string) bool { return t != "null" })
}

// personal says whether the field is somebody's login, which is often called
// after something else.
func (f *field) personal() bool {
	return slices.ContainsFunc(f.parts, func(p part) bool { return p.leaf && logins[p.stem] })
}

// commonness is a small advantage for values that many records have: of two
// fields with the same value, the one that sorts records is meant.
func (f *field) commonness(vs []value) float64 {
	n := 0
	for _, v := range vs {
		n += v.count
	}
	return 0.04 * min(6, math.Log1p(float64(n)))
}

// number is the JSON of a number as the field writes it: with quotes when its
// values are strings.
func (f *field) number(digits string) json.RawMessage {
	if f.numeric() {
		return json.RawMessage(digits)
	}
	return json.RawMessage(`"` + digits + `"`)
}

// identity is the field by which records are called; nil for none.
func (a *array) identity() *field {
	for _, want := range []string{"name", "hostname", "displayname", "title", "id", "key", "label"} {
		for _, f := range a.fields() {
			if strings.EqualFold(strings.ReplaceAll(f.path, "_", ""), want) {
				return f
			}
		}
	}
	var best *field
	for _, f := range a.fields() {
		if len(f.parts) == 1 && f.parts[0].stem == lastWord(a.key) {
			return f
		}
		if f.textual() && !strings.Contains(f.path, ".") {
			if c := f.column(); len(c.values) == c.records && c.records > 0 && best == nil {
				best = f
			}
		}
	}
	return best
}
