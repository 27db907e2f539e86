package estate

import (
	"context"
	"fmt"
	"strings"
)

// outlineFields are the numbers of fields an outline tries to give per array,
// from all that are listed down to none.
var outlineFields = [...]int{maxFields, 60, 30, 15, 8, 4, 0}

// Outline describes the estate for a model: a line for each array with its
// name, count and fields. It has at most maxBytes bytes; where something is
// left out it says how much.
func (e *Estate) Outline(maxBytes int) string {
	if len(e.arrays) == 0 {
		return fit("The context holds no data arrays.", maxBytes)
	}
	for _, fields := range outlineFields {
		if text := e.outline(len(e.arrays), fields, maxBytes); len(text) <= maxBytes {
			return text
		}
	}
	low, high := 0, len(e.arrays)-1 // The most lines that fit.
	for low < high {
		mid := (low + high + 1) / 2
		if len(e.outline(mid, 0, maxBytes)) <= maxBytes {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return fit(e.outline(low, 0, maxBytes), maxBytes)
}

func fit(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	const mark = len("…")
	if maxBytes < mark {
		return ""
	}
	return string(shorten([]byte(text), maxBytes-mark))
}

// outline is the text for so many arrays and fields of each; more than maxBytes
// of it are not completed.
func (e *Estate) outline(arrays, fields, maxBytes int) string {
	var b strings.Builder
	for _, a := range e.arrays[:arrays] {
		if b.Len() > maxBytes {
			break
		}
		fmt.Fprintf(&b, "%s (%d records)", a.key, len(a.starts))
		if p, err := e.profile(context.Background(), a); err == nil && fields > 0 {
			if line := p.line(fields); line != "" {
				b.WriteString(": " + line)
			}
		}
		b.WriteByte('\n')
	}
	switch more := len(e.arrays) - arrays; {
	case e.cut:
		fmt.Fprintf(&b, "… more than %d more arrays\n", more)
	case more > 0:
		fmt.Fprintf(&b, "… %d more arrays\n", more)
	}
	return b.String()
}

func (p *profile) line(n int) string {
	paths := p.paths()
	paths = paths[:min(n, len(paths))]
	if mark := p.mark(n); mark != "" {
		paths = append(paths, mark)
	}
	return strings.Join(paths, ", ")
}
