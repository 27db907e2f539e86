package index

import (
	"strings"
	"unicode"

	"cairn/services/internal/embed"
)

const (
	// A shorter sentence is too unspecific to search for by itself.
	minWords = 3
	// Each sentence costs an embedding and a search; the longest of 2,616 measured
	// requests has 12.
	maxSentences = 12
)

// parts returns the parts of a query: the whole text first, then its sentences if
// there are several. An empty query has none.
func parts(query string) []string {
	if strings.TrimSpace(query) == "" {
		return nil
	}
	all := []string{query}
	sentences := embed.SplitSentences(query, endsSentence)
	if len(sentences) < 2 {
		return all
	}
	for _, s := range sentences {
		if len(strings.Fields(s)) >= minWords && len(all) <= maxSentences {
			all = append(all, s)
		}
	}
	return all
}

// endsSentence reports whether a sentence ends after r: at the end of a line, and at an end mark
// before white space and a character that is not a lower-case letter.
func endsSentence(r rune, rest string) bool {
	return r == '\n' || isEndMark(r) && startsSentence(rest)
}

func isEndMark(r rune) bool { return strings.ContainsRune(".!?。！？", r) }

// startsSentence reports whether a sentence can begin with rest: white space, then a
// character that is not a lower-case letter.
func startsSentence(rest string) bool {
	for i, r := range rest {
		switch {
		case i == 0 && isEndMark(r):
			return false
		case !unicode.IsSpace(r):
			return unicode.IsUpper(r) && i > 0 || unicode.Is(unicode.Lo, r)
		}
	}
	return false
}
