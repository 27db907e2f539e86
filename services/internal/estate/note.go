package estate

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// maxNoteValues bounds the values of a field in a note.
const maxNoteValues = 10

// note explains an empty result: a field, or a value in a filter, that no record has. The
// figures are correct nevertheless.
func (e *Estate) note(ctx context.Context, a *array, r *run) (string, error) {
	if len(a.starts) == 0 {
		return "", nil
	}
	var notes []string
	unknown := r.unknownFields()
	for _, field := range unknown {
		notes = append(notes, fmt.Sprintf("no selected record has the field %q", field))
	}
	if len(unknown) > 0 {
		p, err := e.profile(ctx, a)
		if err != nil {
			return "", err
		}
		notes = append(notes, "the fields are "+list(p.paths()))
	}
	if r.records > 0 {
		return strings.Join(notes, "; "), nil
	}
	for _, c := range r.filter {
		if c.found && c.wants != nil {
			col, err := e.column(ctx, a, c.field)
			if err != nil {
				return "", err
			}
			public, err := col.public.Get(ctx)
			if err != nil {
				return "", err
			}
			if n := c.wants.note(c.field, public); n != "" {
				notes = append(notes, n)
			}
		}
	}
	return strings.Join(notes, "; "), nil
}

// unknownFields returns the fields of the query that no record had.
func (r *run) unknownFields() []string {
	var fields []string
	for _, c := range r.filter {
		if c.tested && !c.found {
			fields = append(fields, c.field)
		}
	}
	if r.records == 0 {
		return fields
	}
	if r.groupBy != "" && !r.grouped {
		fields = append(fields, r.groupBy)
	}
	for _, m := range r.metrics {
		if !m.found {
			fields = append(fields, m.field)
		}
	}
	return fields
}

// note lists the values of a column if o is not one of them.
func (o operand) note(field string, c *Column) string {
	if len(c.Elements) > 0 {
		return fmt.Sprintf("%q has arrays: use {\"contains\": value} to match elements", field)
	}
	known := c.Null > 0 && o.kind == kindNull ||
		slices.ContainsFunc(c.Values, func(v Value) bool { return v.operand() == o })
	if known || len(c.Values) == 0 || len(c.Values) < c.Distinct {
		return ""
	}
	var values []string
	for _, v := range c.Values[:min(maxNoteValues, len(c.Values))] {
		values = append(values, string(truncate(v.JSON(), maxSampleString)))
	}
	if more := c.Distinct - len(values); more > 0 {
		values = append(values, fmt.Sprintf("… %d more", more))
	}
	return fmt.Sprintf("no record has that value of %q; its values are %s", field, strings.Join(values, ", "))
}
