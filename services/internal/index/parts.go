package index

import (
	"strings"
	"unicode"
)

const (
	// A shorter sentence says too little to be looked for by itself.
	minWords = 3
	// Each sentence costs an embedding and a search; of 2,616 measured
	// requests none has more than 12.
	maxSentences = 12
)

// parts returns what a query asks for: the whole of it first, then its
// sentences when it has several. An empty query asks for nothing.
func parts(query string) []string {
	if strings.TrimSpace(query) == "" {
		return nil
	}
	all := []string{query}
	found := sentences(query)
	if len(found) < 2 {
		return all
	}
	for _, s := range found {
		if len(strings.Fields(s)) >= minWords && len(all) <= maxSentences {
			all = append(all, s)
		}
	}
	return all
}

// sentences splits text after every end mark that a capital follows, and at
// line ends.
func sentences(text string) []string {
	var found []string
	letters := []rune(text)
	start := 0
	for i, r := range letters {
		if r == '\n' || ends(r) && starts(letters[i+1:]) {
			found = appendText(found, letters[start:i+1])
			start = i + 1
		}
	}
	return appendText(found, letters[start:])
}

func appendText(texts []string, letters []rune) []string {
	if s := strings.TrimSpace(string(letters)); s != "" {
		return append(texts, s)
	}
	return texts
}

func ends(r rune) bool { return strings.ContainsRune(".!?。！？", r) }

// starts reports whether a new sentence can start with rest: white space, then
// no small letter, or a script without capitals.
func starts(rest []rune) bool {
	if len(rest) == 0 || ends(rest[0]) {
		return false
	}
	for i, r := range rest {
		if unicode.IsSpace(r) {
			continue
		}
		return unicode.IsUpper(r) && i > 0 || unicode.Is(unicode.Lo, r)
	}
	return false
}
