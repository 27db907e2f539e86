package offline

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
)

// array is a data array of the estate, with the data for planning.
type array struct {
	ctx    context.Context // bounds the planning
	estate *estate.Estate
	key    string
	words  []string // of the key's last segment
	parts  []part   // of the key
	fields func() []*field
	// identity returns the field that names the records; nil if there is none.
	identity func() *field
}

// each yields the fields until planning has to end.
func (a *array) each() iter.Seq[*field] { return until(a.ctx, a.fields()) }

// until yields the items of a list until ctx is done. Loops over names, values and links use it.
func until[T any](ctx context.Context, list []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, item := range list {
			if ctx.Err() != nil || !yield(item) {
				return
			}
		}
	}
}

// field is a field of an array's records.
type field struct {
	path   string
	words  []string // of the path's last segment
	parts  []part   // of the path
	types  []string
	column func() estate.Column
}

// part is a word of a name and its weight.
type part struct {
	low, stem string
	weight    float64
	leaf      bool // of the last segment, or of the one before if the last is ambiguous
}

// openArrays returns the arrays. Fields and columns are read on demand; they are empty once ctx is done.
func openArrays(ctx context.Context, e *estate.Estate) []*array {
	var out []*array
	for key := range until(ctx, e.Keys()) {
		words, parts := splitName(key)
		a := &array{ctx: ctx, estate: e, key: key, words: words, parts: parts, fields: sync.OnceValue(func() (out []*field) {
			for f := range until(ctx, e.Fields(key)) {
				words, parts := splitName(f.Path)
				out = append(out, &field{f.Path, words, parts, f.Types, sync.OnceValue(func() estate.Column {
					c, _ := e.Column(ctx, key, f.Path) // the key is known, so it fails only if ctx is done
					return c
				})})
			}
			return out
		})}
		a.identity = sync.OnceValue(a.findIdentity)
		out = append(out, a)
	}
	return out
}

// splitName splits a dotted path into the words of its last segment and into all parts, those of the last segment first. Parents count
// less, unless the last segment is ambiguous by itself. It reads at most maxNameWords segments, of
// each the first maxSegment bytes.
func splitName(path string) (last []string, parts []part) {
	telling := false
	for n := 0; n < maxNameWords && len(parts) < maxNameWords && (n == 0 || path != ""); n++ {
		dot := strings.LastIndexByte(path, '.')
		segment := path[dot+1:]
		path = path[:max(dot, 0)]
		leaf := !telling && n < 2
		words := nameWords(segment[:min(len(segment), maxSegment)])
		words = mergeWords(words[:min(len(words), maxNameWords-len(parts))])
		if n == 0 {
			last = words
		}
		for _, low := range words {
			p := part{low, stem(low), 1, leaf}
			switch {
			case oneOf(low, "type|types|kind|kinds"):
				p.weight = 0.5
			case units[low] != "" && len(words) > 1:
				p.weight = 0.2
			case vague[p.stem]:
				p.weight = 0.3
			default:
				telling = true
			}
			if !leaf {
				p.weight *= 0.4
			}
			parts = append(parts, p)
		}
	}
	return last, parts
}

// named reports whether a word is part of the field's path.
func (f *field) named(low string) bool {
	return slices.ContainsFunc(f.parts, func(p part) bool { return p.low == low })
}

func (f *field) has(kind string) bool { return slices.Contains(f.types, kind) }
func (f *field) textual() bool        { return f.has("string") }
func (f *field) numeric() bool        { return f.has("number") }

// stemmed reports whether the stem is that of a word of the field's path.
func (f *field) stemmed(stem string) bool {
	return slices.ContainsFunc(f.parts, func(p part) bool { return p.stem == stem })
}

// sums reports whether the field's numbers can be added, unlike those of an id.
func (f *field) sums() bool {
	return f.numeric() && !slices.ContainsFunc(f.words, func(low string) bool {
		return oneOf(low, "id|ids|number|no|code|key|year|index|port|floor")
	})
}

// categorical reports whether the field has few values for its records.
func (f *field) categorical() bool {
	n := f.column().Distinct
	return n > 1 && n < 13 && f.filled() >= 2*n
}

// quantity reports whether the field has amounts, unlike a category or a year.
func (f *field) quantity() bool { return f.sums() && !f.categorical() && !f.years() }

// isBool reports whether all values are booleans.
func (f *field) isBool() bool { return f.has("boolean") && !f.textual() && !f.numeric() }

// listed reports whether the field has lists of strings.
func (f *field) listed() bool { return f.has("array") && !f.textual() && len(f.column().Elements) > 0 }

// filled returns the number of records with a value.
func (f *field) filled() int { return f.column().Records - f.column().Missing - f.column().Null }

// blanks returns the values that mean that there is none.
func (f *field) blanks() []estate.Value {
	return slices.DeleteFunc(slices.Clone(f.column().Values), func(v estate.Value) bool {
		low := strings.ToLower(v.Text)
		return v.Type != "string" || low != "" && !oneOf(low, "none|n/a|-")
	})
}

// hasText reports whether the text is a value, in any case.
func (f *field) hasText(text string) bool {
	return f.textual() && slices.ContainsFunc(f.column().Values, func(v estate.Value) bool { return strings.EqualFold(v.Text, text) })
}

// optional reports whether some records have no value.
func (f *field) optional() bool { return f.filled() < f.column().Records || f.has("array") }

// booleanValues returns the values that mean yes and no in a field of two strings.
func (f *field) booleanValues() (yes, no []estate.Value) {
	if !f.textual() || f.column().Distinct != 2 {
		return nil, nil
	}
	a, b := f.column().Values[:1], f.column().Values[1:]
	denies := func(text string) bool {
		return negative[strings.ToLower(text)] || strings.HasPrefix(strings.ToLower(text), "not ")
	}
	if denies(a[0].Text) {
		a, b = b, a
	}
	if affirmative[strings.ToLower(a[0].Text)] && denies(b[0].Text) {
		return a, b
	}
	return nil, nil
}

// layouts of dates other than ISO 8601.
var layouts = []string{time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, "2 January 2006", "2 Jan 2006", "January 2, 2006"}

// isoTime returns a date as it compares with others, in ISO 8601; "" if the text is no date.
func isoTime(text string) string {
	if len(text) > 6 && isoDate.MatchString(text[:min(len(text), 10)]) {
		return text
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return ""
}

// dates reports whether the field has dates.
func (f *field) dates() bool {
	values := f.column().Values
	return f.textual() && slices.ContainsFunc(values[:min(len(values), 10)], func(v estate.Value) bool { return isoTime(v.Text) != "" })
}

// years reports whether all numbers of the field are years.
func (f *field) years() bool {
	values := f.column().Values
	other := func(v estate.Value) bool { return !isoDate.MatchString(v.Text) }
	return f.numeric() && len(values) > 0 && (f.named("year") || !slices.ContainsFunc(values, other))
}

// unit returns the unit in the field's name, in its usual form; "" if there is none.
func (f *field) unit() string {
	for _, p := range f.parts {
		if units[p.low] != "" && (len(p.low) > 1 || strings.HasSuffix(f.path, "_"+p.low)) {
			return units[p.low]
		}
	}
	return ""
}

// findIdentity returns the field that names the records: one called name, or else the first with a distinct string per record, or with a
// distinct number that is an id; nil if there is none.
func (a *array) findIdentity() *field {
	for _, want := range strings.Fields("name hostname displayname title label") {
		for f := range a.each() {
			if strings.EqualFold(strings.ReplaceAll(f.path, "_", ""), want) && f.textual() {
				return f
			}
		}
	}
	unique := func(f *field) bool { return f.textual() && f.unique() && f.unit() == "" }
	named := func(f *field) bool { return unique(f) && (f.named("name") || f.named("title")) }
	own := func(f *field) bool { return a.isNoun(f) && unique(f) }
	number := func(f *field) bool {
		return f.numeric() && len(f.words) > 0 && (oneOf(f.words[len(f.words)-1], "id|number|no") || a.isNoun(f)) && f.unique()
	}
	return cmp.Or(a.first(named), a.first(own), a.first(unique), a.first(number))
}

// isNoun reports whether the field has the name of a record: the hall of halls.
func (a *array) isNoun(f *field) bool {
	return len(f.words) == 1 && len(a.words) == 1 && f.words[0] == singular(a.words[0])
}

// unique reports whether each record has a value of its own.
func (f *field) unique() bool {
	return f.column().Distinct == f.column().Records && len(f.blanks()) == 0 && !f.dates()
}

// categoryField returns the field that best classifies the records.
func (a *array) categoryField() *field {
	return a.first(func(f *field) bool { return f.textual() && f.categorical() })
}

// first returns the first field at the top level that satisfies accept; nil if there is none.
func (a *array) first(accept func(*field) bool) *field {
	for f := range a.each() {
		if !strings.Contains(f.path, ".") && accept(f) && f.filled() > 0 {
			return f
		}
	}
	return nil
}

// name returns the path in Markdown; "" if there is no field.
func (f *field) name() string {
	if f == nil {
		return ""
	}
	return markdown.Escape(f.path)
}

// title returns the words of the key's last segment.
func (a *array) title() string {
	return strings.Join(nameWords(a.key[strings.LastIndexByte(a.key, '.')+1:]), " ")
}

// noun returns the word for n of the records, in Markdown.
func (a *array) noun(n figure) string {
	name := markdown.Escape(a.title())
	if n != 1 {
		return name
	}
	return singular(name)
}

// plurals are endings of nouns, each with that of the singular. None is the end of another.
var plurals = [...][2]string{
	{"ies", "y"}, {"ches", "ch"}, {"shes", "sh"}, {"xes", "x"}, {"sses", "ss"}, {"ss", "ss"}, {"us", "us"}, {"s", ""},
}

// singular returns the singular of a plural noun.
func singular(name string) string {
	for _, p := range plurals {
		if base, ok := strings.CutSuffix(name, p[0]); ok && len(base) > 1 {
			return base + p[1]
		}
	}
	return name
}

// compares reports whether the field may be compared with the literal.
func (f *field) compares(c comparison) bool {
	date := f.dates() || c.lo.number != "" && f.years()
	return c.lo.date != "" && date || c.lo.number != "" && f.numeric() && (c.lo.date == "" || c.op != "eq")
}

// partOf reports whether the numbers of f may be parts of those of the other field: pumps_running of pumps.
func (f *field) partOf(other *field) bool {
	return f != other && f.numeric() && len(other.words) > 0 && f.named(other.words[0])
}
