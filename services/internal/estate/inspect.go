package estate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
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

// Contents returns the data arrays, at most 1,000.
func (e *Estate) Contents() Contents {
	c := Contents{Available: []string{}, Arrays: []Listing{}}
	all := e.listed()
	for _, a := range all[:min(MaxGroups, len(all))] {
		c.Available = append(c.Available, a.key)
		c.Arrays = append(c.Arrays, Listing{a.key, a.count})
	}
	switch more := len(all) - len(c.Arrays); {
	case more > 0:
		c.Note = fmt.Sprintf("%d more arrays are not listed", more)
	case len(all) == 0:
		c.Note = e.whyEmpty()
	case e.cut:
		c.Note = "some arrays are too many or nested too deeply to be listed"
	}
	return c
}

// whyEmpty explains why the estate has no data array.
func (e *Estate) whyEmpty() string {
	v := value(bytes.TrimSpace(bytes.TrimPrefix(e.text, []byte(byteOrderMark))))
	switch v.kind() {
	case kindObject:
		var names []string
		for name := range v.members() {
			if names = append(names, string(truncate(name, maxExample))); len(names) > maxNoteValues {
				break
			}
		}
		if len(names) == 0 {
			return "the JSON is an empty object"
		}
		return "the JSON is one object without an array and without a map of like objects; its members are " +
			strings.Join(names, ", ")
	default:
		return "the JSON is a " + kindNames[v.kind()] + ", not an array or an object with arrays"
	}
}

// Inspect returns the schema of the array. The error is an *UnknownKeyError, ErrMemory or ctx.Err().
func (e *Estate) Inspect(ctx context.Context, key string) (Schema, error) {
	a, err := e.find(ctx, key)
	if err != nil {
		return Schema{}, err
	}
	x := newReader(ctx, e)
	defer x.close()
	r, err := x.records(ctx, a)
	if err != nil {
		return Schema{}, err
	}
	if err := x.locateFields(ctx, a); err != nil {
		return Schema{}, err
	}
	s := Schema{Fields: a.bounded(), Count: a.count, Sample: a.sample(ctx, r)}
	own := a.ownFields()
	for size := 0; len(s.Details) < min(len(own), maxSchemaFields) && size < maxDetailBytes; {
		d, err := x.detail(ctx, a, own[len(s.Details)])
		if err != nil {
			return Schema{}, err
		}
		s.Details = append(s.Details, d)
		size += d.size()
	}
	if omitted := a.profile.omitted(len(own) - len(s.Details)); omitted != "" {
		s.Details = append(s.Details, Detail{Name: omitted})
	}
	for _, inner := range e.listed() {
		if inner.derived != nil && inner.derived.parent == a {
			s.Arrays = append(s.Arrays, Listing{inner.key, inner.count})
		}
	}
	s.NameField = nameField(a)
	s.References, err = x.references(ctx, a, s.Details)
	return s, err
}

// size returns the approximate size of the detail in JSON, in bytes.
func (d Detail) size() int {
	size := 80 + len(d.Name)
	for _, v := range d.Values {
		size += min(len(v.Value), maxExample) + 10
	}
	return size + len(d.Examples)*maxExample
}

// detail describes a field.
func (x *reader) detail(ctx context.Context, a *array, f Field) (Detail, error) {
	d := Detail{Name: f.Path, Share: Number(math.Round(float64(f.Count)/float64(max(1, a.count))*1e4) / 1e4)}
	c, err := x.column(ctx, a, f.Path)
	if err != nil {
		return d, err
	}
	r, err := c.reading.Get(ctx)
	if err != nil {
		return d, err
	}
	if err := x.acquireLists(c); err != nil {
		return d, err
	}
	public, err := c.public.Get(ctx)
	if err != nil {
		return d, err
	}
	values, distinct := public.Values, public.Distinct
	if r.as == asList {
		values, distinct = public.Elements, public.DistinctElements
	}
	d.Type, d.Unit, d.Distinct = r.as, r.unit, distinct
	if len(values) <= maxFew {
		for _, v := range values {
			d.Values = append(d.Values, ValueCount{v.Text, v.Count})
		}
		return d, nil
	}
	for _, v := range values[:examples] {
		d.Examples = append(d.Examples, string(truncate([]byte(v.Text), maxExample)))
	}
	return d, nil
}

// Bounds on the search for references.
const (
	maxReferenceArrays = 30
	maxReferences      = 10
)

// references returns the text fields of an array all of whose values are names of the records of another array.
func (x *reader) references(ctx context.Context, a *array, details []Detail) (found []Reference, err error) {
	all := x.estate.listed()
	for _, other := range all[:min(len(all), maxReferenceArrays)] {
		if other == a || other.isInside(a) || a.isInside(other) {
			continue
		}
		names := nameField(other)
		c, err := x.column(ctx, other, names)
		if err != nil {
			return nil, err
		}
		if c.types&(1<<kindString) == 0 || len(c.values) < 2 || 10*len(c.values) < 9*other.count {
			continue // it does not identify the records
		}
		known := make(map[operand]bool, len(c.values))
		for _, v := range c.values {
			known[v.operand] = true
		}
		for _, d := range details {
			if d.Type != asText || d.Distinct < 2 || len(found) == maxReferences {
				continue
			}
			own, err := x.column(ctx, a, d.Name)
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(own.values, func(v entry) bool { return !known[v.operand] }) {
				found = append(found, Reference{d.Name, other.key, names})
			}
		}
	}
	return found, nil
}

// isInside reports whether the records of a are inside those of b, or are also those of a.
func (a *array) isInside(b *array) bool {
	return a.derived != nil && (a.derived.parent == b || a.derived.others == b || a.derived.parent.isInside(b))
}

// ownFields returns the fields of the records, and the name of a map's members.
func (a *array) ownFields() []Field {
	if !a.isMap {
		return a.profile.fields
	}
	key := Field{Path: keyField, Types: typeNames(1 << kindString), Count: a.count}
	if slices.ContainsFunc(a.profile.fields, func(f Field) bool { return f.Path == keyField }) {
		key.Path = keyAlways
	}
	return append([]Field{key}, a.profile.fields...)
}

// maxParentFields bounds the listed fields of enclosing records.
const maxParentFields = 40

// fields returns the fields of the records and the scalar fields of the enclosing records.
func (a *array) fields() []Field {
	fields := a.ownFields()
	if a.derived == nil {
		return fields
	}
	fields = slices.Clip(fields)
	parents := 0
	for _, f := range a.derived.parent.fields() {
		deep := strings.Count(f.Path, parentPrefix) >= ancestorLevels
		if typeBits(f.Types)&(1<<kindArray|1<<kindObject) == 0 && parents < maxParentFields && !deep {
			parents++
			fields = append(fields, Field{Path: parentPrefix + f.Path, Types: f.Types, Count: min(f.Count, a.count)})
		}
	}
	return fields
}

// paths returns the paths of the fields.
func (a *array) paths() []string {
	fields := a.fields()
	paths := make([]string, len(fields))
	for i, f := range fields {
		paths[i] = f.Path
	}
	return paths
}

// bounded returns the paths of the fields within the bounds of a Schema.
func (a *array) bounded() []string {
	paths := a.paths()
	n, size := 0, 0
	for n < len(paths) && n < maxSchemaFields && size+len(paths[n]) <= maxSchemaBytes {
		size += len(paths[n])
		n++
	}
	if omitted := a.profile.omitted(len(paths) - n); omitted != "" {
		return append(paths[:n:n], omitted)
	}
	return paths
}

// sample returns the first record, abbreviated, or the first one that is an object.
func (a *array) sample(ctx context.Context, r *records) json.RawMessage {
	for element := range r.all() {
		s := sampler{ctx: ctx, left: maxSampleBytes}
		switch {
		case element.kind() == kindObject:
			s.add(element, 0)
		case a.objects > 0: // prefer the first object
			continue
		default:
			s.out = append(s.out, `{"`+ElementField+`":`...)
			s.add(element[:skip(element, 0)], 1)
			s.out = append(s.out, '}')
		}
		return s.out
	}
	return json.RawMessage("{}")
}

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

func (s *sampler) full() bool { return len(s.out) > s.left }

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
	written, left := 0, 0
	for name, member := range v.lastMembers(s.ctx) {
		if left > 0 || s.full() {
			left++
			continue
		}
		if written > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(append(s.out, quote(truncate(name, maxSampleString))...), ':')
		s.add(member, depth+1)
		written++
	}
	if left > 0 {
		if written > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, fmt.Sprintf(`"…":"%d more fields"`, left)...)
	}
	s.out = append(s.out, '}')
}

func (s *sampler) addArray(v value, depth int) {
	s.out = append(s.out, '[')
	count, written := 0, 0
	for element := range v.elements() {
		count++
		if count > maxSampleElements || s.full() {
			continue
		}
		if written > 0 {
			s.out = append(s.out, ',')
		}
		s.add(element, depth+1)
		written++
	}
	if written < count {
		if written > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, fmt.Sprintf(`"… %d more"`, count-written)...)
	}
	s.out = append(s.out, ']')
}

// truncate truncates text to n bytes at a rune boundary and appends an ellipsis.
func truncate(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	return append(bytes.ToValidUTF8(text[:n], nil), "…"...)
}
