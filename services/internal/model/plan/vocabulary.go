// Package plan plans the computations that answer a question about an estate: which array, conditions, groups and
// metric. A plan is JSON that a language model writes under a JSON Schema of the estate, or the offline planner. The
// package makes the prompt and the schema, links the names and values of a plan to the estate, and checks that the plan
// uses what the question names:
//
//	words       splits questions and names into words; lexicon lists known words
//	vocabulary  the arrays, fields and values of an estate
//	mention     links words of a question to names and values
//	prompt      the rules, the examples and the outline of the estate
//	schema      the JSON Schema of a plan
//	plan        a plan, and its calls of compute_stats
//	link        links the values of a plan to those of the estate
//	check       what the question names and the plan omits, and the schema of a second attempt
package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cairn/services/internal/estate"
)

// Bounds on a vocabulary.
const (
	maxArrays = 200
	maxFields = 300 // of an array, those of its enclosing records included
	maxLevels = 3   // of enclosing records
	fewValues = 10  // values that are listed in a prompt
)

const (
	parentPrefix = "parent." // of the fields of the enclosing record
	recursive    = ".**"     // ends the key of an array of all levels
)

// Vocabulary is the arrays, fields and values of an estate. Columns are read when they are needed. It is not safe
// for concurrent use.
type Vocabulary struct {
	ctx    context.Context // bounds the reading of columns
	estate *estate.Estate
	Arrays []*Array
}

// Array is a data array.
type Array struct {
	Key    string
	Count  int
	Parent *Array // has the enclosing records; nil: none
	Fields []*Field
	words  []string // of the last named segment of the key
	outer  []string // of the segment before, if another array has the same last one
}

// Field is a field of the records of an array.
type Field struct {
	Path  string
	Array *Array
	Level int      // 0: of the records themselves; 1: of the enclosing records
	words []string // of the path, the last segment first
	leaf  int      // number of words of the last segment
	types []string
	count int // records with a value
	read  func() estate.Column
}

// New returns the vocabulary of an estate. ctx bounds the reading of its columns, which are empty once it is done.
func New(ctx context.Context, e *estate.Estate) *Vocabulary {
	v := &Vocabulary{ctx: ctx, estate: e}
	byKey := map[string]*Array{}
	for _, key := range e.Keys() {
		if len(v.Arrays) == maxArrays || ctx.Err() != nil {
			break
		}
		if strings.HasPrefix(key, "**.") { // has the records of other arrays again
			continue
		}
		a := &Array{Key: key, Count: e.Count(key), words: keyWords(key)}
		for outer := key; a.Parent == nil && strings.Contains(outer, "."); {
			outer = outer[:strings.LastIndexByte(outer, '.')]
			if !strings.HasSuffix(key, "**") {
				a.Parent = byKey[outer]
			}
		}
		v.addFields(a)
		v.Arrays, byKey[key] = append(v.Arrays, a), a
	}
	for _, a := range v.Arrays {
		segments := strings.Split(a.Key, ".")
		if len(segments) < 2 {
			continue
		}
		last := "." + segments[len(segments)-1]
		if slices.ContainsFunc(v.Arrays, func(o *Array) bool { return o != a && strings.HasSuffix("."+o.Key, last) }) {
			a.outer = nameWords(segments[len(segments)-2])
		}
	}
	return v
}

// Array returns the array of a data key; nil if there is none.
func (v *Vocabulary) Array(key string) *Array {
	i := slices.IndexFunc(v.Arrays, func(a *Array) bool { return a.Key == key })
	if i < 0 {
		return nil
	}
	return v.Arrays[i]
}

// addFields adds the fields of the records, then those of the enclosing records.
func (v *Vocabulary) addFields(a *Array) {
	prefix := ""
	for outer, level := a, 0; outer != nil && level <= maxLevels; outer, level = outer.Parent, level+1 {
		for _, f := range v.estate.Fields(outer.Key) {
			path := prefix + f.Path
			if len(a.Fields) == maxFields || a.Field(path) != nil {
				continue
			}
			field := &Field{Path: path, Array: a, Level: level, types: f.Types, count: f.Count}
			field.words, field.leaf = pathWords(f.Path)
			field.read = sync.OnceValue(func() estate.Column {
				c, _ := v.estate.Column(v.ctx, a.Key, path) // the key is known, so it fails only if ctx is done
				return c
			})
			a.Fields = append(a.Fields, field)
		}
		prefix += parentPrefix
	}
}

// Noun returns the plural noun of the records: from the data key, or the value of a field such as kind that all records
// share; "records" if neither names them.
func (a *Array) Noun() string {
	if len(a.words) > 0 {
		return strings.Join(append(slices.Clone(a.words[:len(a.words)-1]), plural(a.words[len(a.words)-1])), " ")
	}
	if kind := a.Field("kind"); kind != nil && kind.distinct() == 1 && len(kind.values()[0].Text) < maxListed {
		return plural(strings.ToLower(kind.values()[0].Text))
	}
	return "records"
}

// mixed reports whether the records are of several kinds, so that a noun may name some of them.
func (a *Array) mixed() bool {
	return slices.ContainsFunc(a.Fields, func(f *Field) bool {
		kind := slices.Contains([]string{"kind", "type", "class", "category"}, strings.ToLower(f.Path))
		return kind && f.has("string") && f.distinct() > 1
	})
}

// identity returns a field with a value of its own for each record; nil if there is none.
func (a *Array) identity() *Field {
	for _, f := range a.Fields {
		if f.Level == 0 && f.has("string") && !f.list() && f.distinct() == a.Count {
			return f
		}
	}
	return nil
}

// Field returns the field with a path; nil if there is none.
func (a *Array) Field(path string) *Field {
	i := slices.IndexFunc(a.Fields, func(f *Field) bool { return f.Path == path })
	if i < 0 {
		return nil
	}
	return a.Fields[i]
}

// generic are keys that do not name the records.
var generic = set(strings.Fields("items results result data value values ** hostvars records list entries"))

// keyWords returns the words of the last segment of a key that names the records; none if no segment does.
func keyWords(key string) []string {
	for key != "" {
		last := key[strings.LastIndexByte(key, '.')+1:]
		if !generic[strings.ToLower(last)] && !strings.HasPrefix(last, "_") {
			return nameWords(last)
		}
		key = strings.TrimSuffix(strings.TrimSuffix(key, last), ".")
	}
	return nil
}

// pathWords returns the words of a path, the last segment first, and the number of words of that segment.
func pathWords(path string) (words []string, leaf int) {
	segments := strings.Split(path, ".")
	for i := len(segments) - 1; i >= 0 && i >= len(segments)-4; i-- {
		if words = append(words, nameWords(segments[i])...); leaf == 0 {
			leaf = len(words)
		}
	}
	return words, leaf
}

func (f *Field) has(kind string) bool { return slices.Contains(f.types, kind) }

// scalar reports whether the field has values other than objects and null.
func (f *Field) scalar() bool {
	return f.has("string") || f.has("number") || f.has("boolean") || f.list()
}

// object reports whether the field has objects, or lists of objects.
func (f *Field) object() bool { return !f.scalar() && (f.has("object") || f.has("array")) }

// boolean reports whether all values are booleans.
func (f *Field) boolean() bool { return f.has("boolean") && !f.has("string") && !f.has("number") }

// list reports whether the field has lists of scalars.
func (f *Field) list() bool {
	return f.has("array") && f.read().Type == "list" && len(f.read().Elements) > 0
}

// optional reports whether some records have no value.
func (f *Field) optional() bool {
	if f.Level > 0 || f.has("array") {
		c := f.read()
		return c.Missing+c.Null > 0
	}
	return f.count < f.Array.Count
}

// lacking reports whether some records have no value, or an empty text.
func (f *Field) lacking() bool { return f.optional() || f.has("string") && f.hasEmpty() }

// values returns the distinct values, those of lists included.
func (f *Field) values() []estate.Value {
	c := f.read()
	if f.list() {
		return c.Elements
	}
	return c.Values
}

// distinct returns the number of distinct values.
func (f *Field) distinct() int {
	c := f.read()
	if f.list() {
		return c.DistinctElements
	}
	return c.Distinct
}

// enumerated reports whether the field has few values that repeat.
func (f *Field) enumerated() bool {
	n := f.distinct()
	c := f.read()
	return n > 0 && n <= fewValues && (f.boolean() || c.Records-c.Missing-c.Null >= 2*n)
}

// numeric reports whether the values are numbers, or texts with a number such as 128Mi and "50".
func (f *Field) numeric() bool {
	t := f.read().Type
	return t == "number" || t == "quantity"
}

// date reports whether the values are dates.
func (f *Field) date() bool { return f.read().Type == "date" }

// name returns the words of the last segment of the path, in the order of the path.
func (f *Field) name() []string { return f.words[:f.leaf] }

// outline describes an array by its fields, in about limit bytes.
func (a *Array) outline(fields []*Field, limit int) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s (%d records)", a.Key, a.Count)
	if a.Parent != nil {
		fmt.Fprintf(b, ", parent.X is X of %s", a.Parent.Key)
	}
	b.WriteByte('\n')
	omitted := 0
	for _, f := range fields {
		line := f.describe()
		switch {
		case f.Level > 0 || line == "":
		case b.Len()+len(line) > limit:
			omitted++
		default:
			b.WriteString(line)
		}
	}
	if omitted > 0 {
		fmt.Fprintf(b, "  … %d more fields\n", omitted)
	}
	return b.String()
}

// describe returns the line of a field: its values if they are few and repeat, so that they do not name records,
// else its type and number of values; empty if it has none.
func (f *Field) describe() string {
	var values []string
	switch {
	case !f.scalar() && f.optional() && f.object():
		return fmt.Sprintf("  %s: object, in %d records\n", f.Path, f.count)
	case !f.scalar() || f.distinct() == 0:
		return ""
	case f.enumerated():
		for _, value := range f.values() {
			values = append(values, fmt.Sprintf("%.*s", maxListed, value.Text))
		}
		return fmt.Sprintf("  %s: %s\n", f.Path, strings.Join(values, ", "))
	}
	for _, value := range f.values()[:min(2, len(f.values()))] {
		if value.Count > 1 {
			values = append(values, fmt.Sprintf("%.*s", maxListed, value.Text))
		}
	}
	kind := f.read().Type
	if f.list() {
		kind = "list"
	}
	line := fmt.Sprintf("  %s: %s, %d values", f.Path, kind, f.distinct())
	if len(values) > 0 {
		line += " such as " + strings.Join(values, ", ")
	}
	return line + "\n"
}

// outline describes all arrays; it stops beyond limit bytes.
func (v *Vocabulary) outline(limit int) string {
	b := &strings.Builder{}
	b.WriteString("Arrays:\n")
	for _, a := range v.Arrays {
		if b.Len() > limit {
			break
		}
		b.WriteString(a.outline(a.Fields, limit+1))
	}
	return b.String()
}

// spellings returns the values of the field that are equal to the text after folding, or its singular.
func (f *Field) spellings(text string) (equal []estate.Value) {
	folded := fold(text)
	if folded == "" {
		return nil
	}
	for _, v := range f.values() {
		if spelling := fold(v.Text); spelling == folded || v.Type == "string" && spelling == Singular(folded) {
			equal = append(equal, v)
		}
	}
	return equal
}

// hasEmpty reports whether the field has an empty text as a value.
func (f *Field) hasEmpty() bool {
	return slices.ContainsFunc(f.values(), func(v estate.Value) bool { return v.Type == "string" && v.Text == "" })
}

// metrics returns the metrics of a field.
func (f *Field) metrics() (names []string) {
	if !f.scalar() {
		return nil
	}
	if !f.boolean() && f.distinct() > 1 {
		names = append(names, "distinct:"+f.Path)
	}
	switch {
	case f.numeric() && !f.identifier():
		names = append(names, "sum:"+f.Path, "avg:"+f.Path, "min:"+f.Path, "max:"+f.Path, "p50:"+f.Path)
	case f.date():
		names = append(names, "min:"+f.Path, "max:"+f.Path)
	}
	return names
}

// identifier reports whether the numbers of the field name something, so that they are not added.
func (f *Field) identifier() bool {
	return slices.ContainsFunc(f.name(), func(w string) bool {
		return slices.Contains([]string{"id", "ids", "uid", "code", "port", "year", "index", "version", "generation"}, w)
	})
}
