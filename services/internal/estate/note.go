package estate

import (
	"fmt"
	"strings"
)

// maxNoteValues is how many values of a field a note repeats.
const maxNoteValues = 10

// note says what may be wrong with a query that found nothing where it looked:
// a field that no record has, or a filter value that no record has. The
// figures are right nevertheless.
func (e *Estate) note(a *array, r *run) string {
	if a.count == 0 {
		return ""
	}
	var notes []string
	unknown := r.unknownFields()
	for _, field := range unknown {
		notes = append(notes, fmt.Sprintf("no record looked at has the field %q", field))
	}
	if len(unknown) > 0 {
		notes = append(notes, "the fields are "+list(e.fields(a).paths()))
	}
	if r.records > 0 {
		return strings.Join(notes, "; ")
	}
	for _, c := range r.filter {
		if c.wants == nil || !c.found {
			continue
		}
		if n := e.valuesNote(a, c); n != "" {
			notes = append(notes, n)
		}
	}
	return strings.Join(notes, "; ")
}

// unknownFields are those that were looked for and never found.
func (r *run) unknownFields() []string {
	var fields []string
	looked := true
	for _, c := range r.filter {
		if looked && !c.found {
			fields = append(fields, c.field)
		}
		looked = looked && c.found
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

// valuesNote tells the values of a field when the one asked for is not there.
func (e *Estate) valuesNote(a *array, c *condition) string {
	column := e.column(a, c.field)
	var values []string
	for _, v := range column.Values {
		if v.operand() == *c.wants {
			return ""
		}
		if len(values) < maxNoteValues {
			values = append(values, string(shorten(v.JSON(), maxSampleString)))
		}
	}
	if more := column.Distinct - len(values); more > 0 {
		values = append(values, fmt.Sprintf("%d more", more))
	}
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("no record has that value of %q; its values are %s", c.field, strings.Join(values, ", "))
}
