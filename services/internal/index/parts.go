package index

import (
	"strings"
	"unicode"
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

// sentences splits text at line ends and after each end mark that is followed by a
// capital letter.
func sentences(text string) []string {
	var found []string
	letters := []rune(text)
	start := 0
	for i, r := range letters {
		if r == '\n' || endsSentence(r) && startsSentence(letters[i+1:]) {
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

func endsSentence(r rune) bool { return strings.ContainsRune(".!?。！？", r) }

// startsSentence reports whether a sentence can begin with rest: white space, then a
// character that is not a lower-case letter.
func startsSentence(rest []rune) bool {
	if len(rest) == 0 || endsSentence(rest[0]) {
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
