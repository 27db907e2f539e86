package estate

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
		field = nameField(c.array)
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
	if !v.found && len(c.rows) > 0 {
		c.absent = append(c.absent, v.field)
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
	for i, row := range best.list {
		f, _ := number(row)
		if i >= cmp.Or(c.Top.Limit, 1) {
			if last, _ := number(best.list[i-1]); f != last {
				return nil
			}
		}
		cell := v.cell(f)
		c.result.Names = append(c.result.Names, Name{Name: name(row), Value: &cell})
	}
	if len(best.list) == maxListedNames { // there may be more records with the last value
		last := best.list[maxListedNames-1]
		f, _ := number(last)
		for _, row := range c.rows {
			if g, ok := number(row); ok && g == f && best.compare(row, last) > 0 {
				c.result.MoreNames++
			}
		}
	}
	return nil
}

// nameWords are the last segments of fields that name records, in order of preference.
var nameWords = []string{
	"name", "hostname", "fqdn", "title", "displayname", "label", "login", "id", "arn", "address", "path", "key", "value",
}

// nameField returns the field that names the records of an array: the name of a map's members; a field of at least
// half of the records that is called name or another of nameWords, also in metadata or tags; one whose name ends
// in name or id; the first text; the first field.
func nameField(a *array) string {
	if a.isMap {
		return keyAlways
	}
	best, bestRank := "", math.MaxInt
	for _, f := range a.profile.fields {
		if rank := nameRank(f); rank < bestRank && 2*f.Count >= a.count {
			best, bestRank = f.Path, rank
		}
	}
	return best
}

// nameRank orders fields by how well they name records.
func nameRank(f Field) int {
	const depths = 4
	outer, last := "", f.Path
	if dot := strings.LastIndexByte(f.Path, '.'); dot >= 0 {
		outer, last = f.Path[:dot], f.Path[dot+1:]
	}
	word := foldSpelling(last)
	depth := 3
	switch strings.ToLower(outer) {
	case "":
		depth = 0
	case "metadata", "tags":
		depth = 1
	}
	rank := slices.Index(nameWords, word)
	switch id := slices.Index(nameWords, "id"); {
	case typeBits(f.Types)&(1<<kindString|1<<kindNumber) == 0:
		rank = len(nameWords) + 2
	case rank >= 0:
	case strings.HasSuffix(word, "name") && depth < 3:
		rank, depth = id-1, 2
	case strings.HasSuffix(word, "id") && depth < 3:
		rank, depth = id, 2
	case slices.Contains(f.Types, kindNames[kindString]):
		rank = len(nameWords)
	default:
		rank = len(nameWords) + 1
	}
	return depths*rank + depth
}
