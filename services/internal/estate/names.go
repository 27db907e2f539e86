package estate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// addNames adds the names of the records that match, or of those with the extreme values of a field.
func (c *computation) addNames(ctx context.Context) error {
	if c.Names == nil && c.Top == nil {
		return nil
	}
	field := ""
	if c.Names != nil {
		field = c.Names.Field
	}
	if field == "" {
		var err error
		if field, err = c.nameField(ctx, c.array); err != nil {
			return err
		}
	}
	col, err := c.column(ctx, field)
	if err != nil {
		return err
	}
	if len(col.codes) == 0 && len(c.rows) > 0 {
		return fmt.Errorf("names: no record has the field %q; the fields are %s", field, list(c.array.paths()))
	}
	codes := col.dense(c.array.count)
	name := func(row uint32) string {
		if codes[row] < codeValues {
			return NullGroup
		}
		return groupKey(col.values[codes[row]-codeValues].label())
	}
	if c.Top != nil {
		return c.addTop(ctx, name)
	}
	limit := cmp.Or(c.Names.Limit, defaultNames)
	for _, row := range c.rows[:min(limit, len(c.rows))] {
		c.result.Names = append(c.result.Names, Name{Name: name(row)})
	}
	c.result.MoreNames = max(0, len(c.rows)-limit)
	return nil
}

// addTop adds the records with the extreme values of a field, and those with the same value as the last.
func (c *computation) addTop(ctx context.Context, name func(row uint32) string) error {
	v, err := c.measure(ctx, &metric{name: c.Top.By, op: "max", field: c.Top.By})
	if err != nil {
		return err
	}
	number := func(row uint32) (float64, bool) {
		if v.codes[row] < codeValues {
			return 0, false
		}
		f := v.numbers[v.codes[row]-codeValues]
		return f, f == f
	}
	sign := -1
	if c.Top.Order == "asc" {
		sign = 1
	}
	best := worstFirst{compare: func(a, b uint32) int {
		x, _ := number(a)
		y, _ := number(b)
		return cmp.Or(sign*cmp.Compare(x, y), cmp.Compare(a, b))
	}}
	for i, row := range c.rows {
		if i%checkRows == 0 && yield(ctx, i) != nil {
			return ctx.Err()
		}
		if _, ok := number(row); ok {
			best.offer(row, maxListedNames)
		}
	}
	slices.SortFunc(best.list, best.compare)
	c.result.NamesUnit = v.unit
	limit := cmp.Or(c.Top.Limit, 1)
	for i, row := range best.list {
		f, _ := number(row)
		if i >= limit {
			if last, _ := number(best.list[i-1]); f != last {
				break
			}
		}
		cell := v.cell(f)
		c.result.Names = append(c.result.Names, Name{Name: name(row), Value: &cell})
	}
	return nil
}

// nameWords are the last segments of fields that name records, in order of preference.
var nameWords = []string{"name", "hostname", "fqdn", "title", "displayname", "label", "login", "id", "arn", "address", "path", "key", "value"}

// nameField returns the field that names the records of an array: the key of a map; a field called name, also of metadata or of
// tags; one of other usual names; one whose name ends in name or id; the first text.
func (x *reader) nameField(ctx context.Context, a *array) (string, error) {
	if a.isMap {
		return keyAlways, nil
	}
	best, bestRank := "", len(nameWords)*4+4
	for _, f := range a.ownFields() {
		if typeBits(f.Types)&(1<<kindString|1<<kindNumber) == 0 || 2*f.Count < a.count {
			continue
		}
		if rank := nameRank(f); rank < bestRank {
			best, bestRank = f.Path, rank
		}
	}
	if best == "" && len(a.paths()) > 0 {
		best = a.paths()[0]
	}
	return best, ctx.Err()
}

// nameRank orders fields by how well they name records.
func nameRank(f Field) int {
	last := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
	outer := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(f.Path, last), "."))
	word := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(last))
	depth := 1
	switch {
	case outer == "":
		depth = 0
	case outer != "metadata" && outer != "tags":
		depth = 3
	}
	if i := slices.Index(nameWords, word); i >= 0 {
		return 4*i + depth
	}
	switch {
	case depth < 3 && strings.HasSuffix(word, "name"):
		return 4*slices.Index(nameWords, "id") - 2
	case depth < 3 && strings.HasSuffix(word, "id"):
		return 4*slices.Index(nameWords, "id") + 2
	case slices.Contains(f.Types, kindNames[kindString]):
		return len(nameWords)*4 + depth
	}
	return len(nameWords)*4 + 4
}
