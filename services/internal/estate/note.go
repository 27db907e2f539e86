package estate

import (
	"context"
	"fmt"
	"strings"
)

// maxNoteValues bounds the values of a field in a note.
const maxNoteValues = 10

// emptyResultNote explains an empty result: a field, or a value in a filter, that no record has. The
// figures are correct nevertheless.
func emptyResultNote(ctx context.Context, e *Estate, a *array, r *run) (string, error) {
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
