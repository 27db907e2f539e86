package estate

import (
	"context"
	"fmt"
	"strings"
)

// outlineFields are the numbers of fields per array that an outline tries, in order.
var outlineFields = [...]int{maxFields, 60, 30, 15, 8, 4, 0}

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

// writeOutline returns the text for the given numbers of arrays and fields per array. It stops
// after maxBytes.
func writeOutline(e *Estate, arrays, fields, maxBytes int) string {
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
