package estate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Schema describes a data array to the model by metadata and one sample record.
type Schema struct {
	Fields []string        `json:"fields"` // dotted paths; if there are more, the last entry contains their number
	Count  int             `json:"count"`
	Sample json.RawMessage `json:"sample"` // an object: the first record, abbreviated
	// Details describes the fields, those of enclosing records excluded.
	Details    []Detail    `json:"details,omitempty"`
	Arrays     []Listing   `json:"arrays,omitempty"` // the arrays inside the records
	References []Reference `json:"references,omitempty"`
	NameField  string      `json:"name_field,omitempty"` // the field that names the records
}

// A Detail describes the values of a field.
type Detail struct {
	Name     string       `json:"name"`
	Type     string       `json:"type,omitempty"`     // number, text, date, boolean, list, quantity, …
	Unit     string       `json:"unit,omitempty"`     // of quantities
	Share    Number       `json:"share"`              // of the records that have the field, not null
	Distinct int          `json:"distinct,omitzero"`  // different scalars, of lists elements
	Values   []ValueCount `json:"values,omitempty"`   // all of them if they are few, most frequent first
	Examples []string     `json:"examples,omitempty"` // some of them if they are many
	// Positions are the paths of the elements, if all values are lists of equal length with elements of different types.
	Positions []string `json:"positions,omitempty"`
}

// ValueCount is a value and its number of records, or of elements of lists.
type ValueCount struct {
	Value string
	Count int
}

// MarshalJSON returns [value, count].
func (v ValueCount) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(append([]byte{'['}, quote(truncate([]byte(v.Value), maxExample))...), ",%d]", v.Count), nil
}

// A Listing is a data array and its number of records.
type Listing struct {
	DataKey string `json:"data_key"`
	Count   int    `json:"count"`
}

// A Reference is a field whose values are those of a field of another array.
type Reference struct {
	Field   string `json:"field"`
	DataKey string `json:"data_key"`
	To      string `json:"to"`
}

// Contents lists the data arrays of an estate.
type Contents struct {
	Available []string  `json:"available"`
	Arrays    []Listing `json:"arrays"`
	Note      string    `json:"note,omitempty"` // why there is none, or that there are more
}

// Bounds on the details of a field.
const (
	maxFew     = 10 // values that are listed
	maxExample = 60 // bytes of a listed value
	examples   = 3
)

// size returns the approximate size of the detail in JSON, in bytes.
func (d Detail) size() int {
	size := 80 + len(d.Name)
	for _, v := range d.Values {
		size += min(len(v.Value), maxExample) + 10
	}
	return size + len(d.Examples)*maxExample
}

// Bounds on the search for references.
const (
	maxReferenceArrays = 30
	maxReferences      = 10
)

// maxParentFields bounds the listed fields of enclosing records.
const maxParentFields = 40

// Bounds on a Schema, to fit the context of a small model.
const (
	maxSchemaFields = 200
	maxSchemaBytes  = 8 << 10 // of field names
	maxSampleBytes  = 2 << 10
	maxDetailBytes  = 8 << 10
)

// Bounds on the parts of a sample.
const (
	maxSampleString   = 160 // bytes
	maxSampleElements = 3
	maxSampleDepth    = 4
)

// sampler copies a value and replaces long parts by a mark. It starts no member or
// element after left bytes.
type sampler struct {
	ctx  context.Context // bounds the reading of large objects
	out  json.RawMessage
	left int
}

func (s *sampler) full() bool { return len(bytes.TrimSuffix(s.out, []byte{','})) > s.left }

func (s *sampler) add(v value, depth int) {
	switch k := v.kind(); {
	case k == kindString:
		s.out = append(s.out, quote(truncate(v.content(), maxSampleString))...)
	case k == kindNumber && len(v) > maxSampleString:
		s.out = append(s.out, quote(truncate(v, maxSampleString))...)
	case k == kindObject && depth < maxSampleDepth:
		s.addObject(v, depth)
	case k == kindArray && depth < maxSampleDepth:
		s.addArray(v, depth)
	case k == kindObject || k == kindArray:
		s.out = append(s.out, `"…"`...)
	default:
		s.out = append(s.out, v...)
	}
}

func (s *sampler) addObject(v value, depth int) {
	s.out = append(s.out, '{')
	left := 0
	for name, member := range v.lastMembers(s.ctx) {
		if left > 0 || s.full() {
			left++
			continue
		}
		s.out = append(append(s.out, quote(truncate(name, maxSampleString))...), ':')
		s.add(member, depth+1)
		s.out = append(s.out, ',')
	}
	if left > 0 {
		s.out = fmt.Appendf(s.out, `"…":"%d more fields"`, left)
	}
	s.out = closed(s.out, '}')
}

func (s *sampler) addArray(v value, depth int) {
	s.out = append(s.out, '[')
	count, written := 0, 0
	for element := range v.elements() {
		count++
		if count > maxSampleElements || s.full() {
			continue
		}
		s.add(element, depth+1)
		s.out = append(s.out, ',')
		written++
	}
	if written < count {
		s.out = fmt.Appendf(s.out, `"… %d more"`, count-written)
	}
	s.out = closed(s.out, ']')
}

// truncate truncates text to n bytes at a rune boundary and appends an ellipsis.
func truncate(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	return append(bytes.ToValidUTF8(text[:n], nil), "…"...)
}
