package offline

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
)

// array is an array of the estate, as far as planning looks at it.
type array struct {
	ctx    context.Context // ends the planning
	key    string
	fields func() []*field
}

// field is a field of an array's records.
type field struct {
	path   string
	types  []string
	column func() estate.Column
}

// openArrays lists the arrays. Fields and columns are read when needed, and are
// empty once ctx has ended.
func openArrays(ctx context.Context, e *estate.Estate) []*array {
	var out []*array
	for _, key := range e.Keys() {
		out = append(out, &array{ctx: ctx, key: key, fields: sync.OnceValue(func() []*field { return openFields(ctx, e, key) })})
	}
	return out
}

func openFields(ctx context.Context, e *estate.Estate, key string) []*field {
	fields, _ := e.Fields(ctx, key) // fails when ctx ends
	var out []*field
	for _, f := range fields {
		out = append(out, &field{f.Path, f.Types, sync.OnceValue(func() estate.Column {
			c, _ := e.Column(ctx, key, f.Path) // the key is the estate's own: it fails when ctx ends
			return c
		})})
	}
	return out
}

// head is the stem of the last word of the key: what a record is.
func (a *array) head() string {
	words := append([]string{""}, nameWords(a.key)...)
	return stem(words[len(words)-1])
}

// readColumns reads the columns in which values are looked up, on as many cores
// as there are: those of one array after the other are what takes longest.
func (a *array) readColumns() {
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range a.fields() {
		if f.textual() || f.has("array") {
			reading.Go(func() error { f.column(); return nil })
		}
	}
	_ = reading.Wait() // nothing fails
}

func (f *field) has(kind string) bool { return slices.Contains(f.types, kind) }
func (f *field) textual() bool        { return f.has("string") }
func (f *field) numeric() bool        { return f.has("number") }

// sums says whether numbers of the field can be added up: an id's cannot.
func (f *field) sums() bool {
	return f.numeric() && !slices.ContainsFunc(parts(f.path), func(p part) bool { return p.leaf && oneOf(p.low, "id|ids|number|no|code|key|year") })
}

// flag says whether the field is true or false and nothing else.
func (f *field) flag() bool { return f.has("boolean") && !f.textual() && !f.numeric() }

// listed says whether the field has lists of texts.
func (f *field) listed() bool {
	return f.has("array") && !f.textual() && len(f.column().Elements) > 0
}

// filled is how many records have a value.
func (f *field) filled() int { return f.column().Records - f.column().Missing - f.column().Null }

// polar gives the values by which a field of two texts says yes and no.
func (f *field) polar() (yes, no []estate.Value) {
	if !f.textual() || f.column().Distinct != 2 {
		return nil, nil
	}
	a, b := f.column().Values[:1], f.column().Values[1:]
	if negative[strings.ToLower(a[0].Text)] {
		a, b = b, a
	}
	if affirmative[strings.ToLower(a[0].Text)] && negative[strings.ToLower(b[0].Text)] {
		return a, b
	}
	return nil, nil
}

// identity is the field by which records are called, nil for none: one that is
// called a name, or else the first with a text of its own for each record.
func (a *array) identity() *field {
	for _, want := range strings.Fields("name hostname displayname title id key label") {
		for _, f := range a.fields() {
			if strings.EqualFold(strings.ReplaceAll(f.path, "_", ""), want) {
				return f
			}
		}
	}
	return a.first(func(f *field) bool { return f.column().Distinct == f.filled() })
}

// sorter is the field that best sorts the records into a few kinds.
func (a *array) sorter() *field {
	return a.first(func(f *field) bool { n := f.column().Distinct; return n > 1 && n < 13 && f.filled() > 2*n })
}

// first is the first field of texts that is so; nil for none.
func (a *array) first(so func(*field) bool) *field {
	i := slices.IndexFunc(a.fields(), func(f *field) bool {
		return f.textual() && !strings.Contains(f.path, ".") && f.filled() > 0 && so(f)
	})
	if i < 0 {
		return nil
	}
	return a.fields()[i]
}

// name returns the path in Markdown.
func (f *field) name() string { return markdown.Escape(f.path) }

// noun returns the word for n of the records, in Markdown.
func (a *array) noun(n figure) string {
	name := markdown.Escape(strings.Join(nameWords(a.key[strings.LastIndex(a.key, ".")+1:]), " "))
	if n != 1 {
		return name
	}
	for plural, singular := range map[string]string{"ies": "y", "ches": "ch", "shes": "sh", "xes": "x", "sses": "ss", "ss": "ss", "us": "us"} {
		if base, ok := strings.CutSuffix(name, plural); ok {
			return base + singular
		}
	}
	return strings.TrimSuffix(name, "s")
}
