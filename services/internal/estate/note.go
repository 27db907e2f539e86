package estate

import (
	"strings"
)

// maxNoteValues bounds the values of a field in a note.
const maxNoteValues = 10

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
