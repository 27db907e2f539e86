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

// array is an array of the estate with the data for planning.
type array struct {
	ctx    context.Context // bounds the planning
	key    string
	fields func() []*field
}

// field is a field of an array's records.
type field struct {
	path   string
	types  []string
	column func() estate.Column
}

// openArrays returns the arrays. Fields and columns are read on demand; they are empty
// once ctx is done.
func openArrays(ctx context.Context, e *estate.Estate) []*array {
	var out []*array
	for _, key := range e.Keys() {
		out = append(out, &array{ctx: ctx, key: key, fields: sync.OnceValue(func() []*field { return openFields(ctx, e, key) })})
	}
	return out
}

func openFields(ctx context.Context, e *estate.Estate, key string) []*field {
	fields, _ := e.Fields(ctx, key) // fails only if ctx is done
	var out []*field
	for _, f := range fields {
		out = append(out, &field{f.Path, f.Types, sync.OnceValue(func() estate.Column {
			c, _ := e.Column(ctx, key, f.Path) // the key is known, so it fails only if ctx is done
			return c
		})})
	}
	return out
}

// head returns the stem of the last word of the key: the noun for a record.
func (a *array) head() string {
	words := append([]string{""}, nameWords(a.key)...)
	return stem(words[len(words)-1])
}

// readColumns reads the columns for value lookups concurrently: they dominate the time of
// planning.
func (a *array) readColumns() {
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range a.fields() {
		if f.textual() || f.has("array") {
			reading.Go(func() error { f.column(); return nil })
		}
	}
	_ = reading.Wait() // never fails
}

func (f *field) has(kind string) bool { return slices.Contains(f.types, kind) }
func (f *field) textual() bool        { return f.has("string") }
func (f *field) numeric() bool        { return f.has("number") }

// sums reports whether the field's numbers can be added, unlike those of an id.
func (f *field) sums() bool {
	return f.numeric() && !slices.ContainsFunc(parts(f.path),
		func(p part) bool { return p.leaf && oneOf(p.low, "id|ids|number|no|code|key|year") })
}

// flag reports whether all values are booleans.
func (f *field) flag() bool { return f.has("boolean") && !f.textual() && !f.numeric() }

// listed reports whether the field has lists of strings.
func (f *field) listed() bool {
	return f.has("array") && !f.textual() && len(f.column().Elements) > 0
}

// filled returns the number of records with a value.
func (f *field) filled() int { return f.column().Records - f.column().Missing - f.column().Null }

// polar returns the values that mean yes and no in a field of two strings.
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

// identity returns the field that names the records: one called name, or else the first
// with a distinct string per record; nil if there is none.
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

// sorter returns the field that best classifies the records.
func (a *array) sorter() *field {
	return a.first(func(f *field) bool { n := f.column().Distinct; return n > 1 && n < 13 && f.filled() > 2*n })
}

// first returns the first string field that satisfies so; nil if there is none.
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
