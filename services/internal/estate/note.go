package estate

import (
	"context"
	"fmt"
	"strings"
)

// maxNoteValues bounds the values of a field in a note.
const maxNoteValues = 10

// note explains what the caller may have meant otherwise: a field, or a value of a filter, that no record has,
// and other spellings of a value. The figures are correct nevertheless.
func (c *computation) note(ctx context.Context) (string, error) {
	if c.array.count == 0 {
		return "", nil
	}
	var notes []string
	unknown := c.unknownFields()
	for _, field := range unknown {
		text := fmt.Sprintf("no selected record has the field %q", field)
		if names := nearest(field, c.array.paths()); len(names) > 0 && names[0] != field {
			text += "; did you mean " + strings.Join(names, " or ") + "?"
		}
		notes = append(notes, text)
	}
	if len(unknown) > 0 {
		notes = append(notes, "the fields are "+list(c.array.paths()))
	}
	for _, condition := range c.filter {
		if !condition.found || condition.wants == nil {
			continue
		}
		text, err := c.valueNote(ctx, condition)
		if err != nil {
			return "", err
		}
		if text != "" {
			notes = append(notes, text)
		}
	}
	return strings.Join(append(notes, c.notes...), "; "), nil
}

// valueNote describes the values of the field of an equality that are other spellings of the operand, or all
// values if no record matches.
func (c *computation) valueNote(ctx context.Context, condition *condition) (string, error) {
	col, err := c.column(ctx, condition.field)
	if err != nil {
		return "", err
	}
	if spellings := col.spellings(*condition.wants); len(spellings) > 0 {
		return fmt.Sprintf("%q also has %s", condition.field, strings.Join(spellings, ", ")), nil
	}
	if len(c.rows) > 0 {
		return "", nil
	}
	public, err := col.public.Get(ctx)
	if err != nil {
		return "", err
	}
	return condition.wants.note(condition.field, public), nil
}

// spellings returns the texts of the column that differ from a text in case, spaces and punctuation only, with
// their numbers of records.
func (c *column) spellings(o operand) (texts []string) {
	if o.kind != kindString || o.text == "" || len(o.text) > maxSampleString {
		return nil
	}
	folded := foldSpelling(o.text)
	for _, v := range c.values {
		if v.kind != kindString || v.text == o.text || len(v.text) > 2*len(o.text)+2 || 2*len(v.text)+2 < len(o.text) {
			continue
		}
		if len(texts) < maxNoteValues && foldSpelling(v.text) == folded {
			texts = append(texts, fmt.Sprintf("%s (%d)", quote([]byte(v.text)), v.count))
		}
	}
	return texts
}

// foldSpelling returns the letters, digits and other marks of a text in lower case, without spaces, hyphens and
// underscores.
func foldSpelling(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '_' {
			return -1
		}
		return r
	}, strings.ToLower(text))
}
