package estate

import (
	"context"
	"fmt"
	"strings"
)

// outlineFields are the numbers of fields per array that an outline tries, in order.
var outlineFields = [...]int{maxFields, 60, 30, 15, 8, 4, 0}

// Outline describes the estate to a model: a line per array with its name, count and
// fields. It has at most maxBytes bytes, and states how much it omits.
func (e *Estate) Outline(maxBytes int) string {
	if len(e.arrays) == 0 {
		return fit("The context has no data arrays.", maxBytes)
	}
	for _, fields := range outlineFields {
		if text := e.outline(len(e.arrays), fields, maxBytes); len(text) <= maxBytes {
			return text
		}
	}
	low, high := 0, len(e.arrays)-1 // binary search for the most lines that fit
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
	return string(truncate([]byte(text), maxBytes-mark))
}

// outline returns the text for the given numbers of arrays and fields per array. It stops
// after maxBytes.
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
