package estate

import (
	"context"
	"fmt"
	"strings"
)

// outlineLevels are the numbers of fields per array that an outline tries, in order, and whether it describes them.
var outlineLevels = [...]struct {
	fields int
	values bool
}{
	{maxFields, true}, {60, true},
	{maxFields, false}, {60, false}, {30, false}, {15, false}, {8, false}, {4, false}, {0, false},
}

const (
	// outlineRead is the size of a text up to which an outline describes fields by their values, in bytes.
	outlineRead  = 1 << 20
	outlineValue = 30 // bytes of a value
)

func fit(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	const mark = len("…")
	if maxBytes < mark {
		return ""
	}
	return string(truncate([]byte(text), maxBytes-mark))
}

type outline struct {
	*reader
	arrays   []*array
	maxBytes int
}

// write returns the text for the given numbers of arrays and fields per array. It stops
// after maxBytes.
func (o *outline) write(arrays, fields int, values bool) string {
	var b strings.Builder
	for _, a := range o.arrays[:arrays] {
		if b.Len() > o.maxBytes {
			break
		}
		fmt.Fprintf(&b, "%s (%d records)", a.key, a.count)
		if fields > 0 {
			if line := o.line(a, fields, values); line != "" {
				b.WriteString(": " + line)
			}
		}
		b.WriteByte('\n')
	}
	switch rest := len(o.arrays) - arrays; {
	case o.estate.cut:
		fmt.Fprintf(&b, "… more than %d more arrays\n", rest)
	case rest > 0:
		fmt.Fprintf(&b, "… %d more arrays\n", rest)
	}
	return b.String()
}

// line describes the fields of an array, and where it has those of the enclosing record.
func (o *outline) line(a *array, fields int, values bool) string {
	var parts []string
	own := a.ownFields()
	if values && a.derived != nil && len(o.estate.text) <= outlineRead {
		_ = o.locateFields(context.Background(), a) // without memory, each field is searched
	}
	for _, f := range own[:min(fields, len(own))] {
		text := f.Path
		if values {
			text += o.describe(a, f)
		}
		parts = append(parts, text)
	}
	if omitted := a.profile.omitted(len(own) - len(parts)); omitted != "" {
		parts = append(parts, omitted)
	}
	if a.derived != nil && !a.derived.recursive {
		parts = append(parts, parentPrefix+"* of "+a.derived.parent.key)
	}
	return strings.Join(parts, ", ")
}

// describe returns the type of a field in parentheses, or its values if they are few.
func (o *outline) describe(a *array, f Field) string {
	if bits := typeBits(f.Types) &^ (1 << kindNull); bits >= 1<<kindObject || len(o.estate.text) > outlineRead {
		return ""
	}
	d, err := o.detail(context.Background(), a, f)
	if err != nil || d.Type == asList && d.Positions == nil {
		return ""
	}
	texts := append([]string(nil), d.Examples...)
	for _, v := range d.Values {
		texts = append(texts, string(truncate([]byte(v.Value), outlineValue)))
	}
	switch {
	case d.Positions != nil:
		return " (" + strings.Join(d.Positions, ", ") + ")"
	case len(d.Values) > 0 && (d.Type == asBoolean || f.Count >= 2*len(d.Values)): // no names of records
		return " (" + strings.Join(texts, "|") + ")"
	case d.Type == asText && len(texts) > 0:
		return " (text such as " + string(truncate([]byte(texts[0]), outlineValue)) + ")"
	case d.Type == asQuantity:
		return " (quantity in " + d.Unit + ")"
	default:
		return " (" + d.Type + ")"
	}
}
