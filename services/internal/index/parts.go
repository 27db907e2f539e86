package index

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

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
// there are several, in at most maxSentences groups. Sentences with typing errors are followed by their
// corrections. A query without a letter or a digit has no parts.
func parts(query string) []string {
	query = embed.SplitNames(norm.NFKC.String(trimPunctuation(query)))
	if !strings.ContainsFunc(query, isContent) {
		return nil
	}
	all := append([]string{query}, groups(query)...)
	for _, text := range all[min(1, len(all)-1):] {
		if correct := embed.Correct(text); correct != text {
			if len(all) == 1 { // the best of the query and its correction counts
				all = append(all, query)
			}
			all = append(all, correct)
		}
	}
	return all
}

// groups returns the sentences of a query of several, joined if they are more than maxSentences.
func groups(query string) (list []string) {
	sentences := embed.SplitSentences(query, endsSentence)
	if len(sentences) < 2 {
		return nil
	}
	for i, s := range sentences {
		sentences[i] = trimPunctuation(s)
	}
	sentences = slices.DeleteFunc(sentences, func(s string) bool { return len(strings.Fields(s)) < minWords })
	for i, n := 0, min(len(sentences), maxSentences); i < n; i++ {
		group := sentences[i*len(sentences)/n : (i+1)*len(sentences)/n]
		list = append(list, strings.Join(group, ". "))
	}
	return list
}

// trimPunctuation returns text without white space around it and punctuation at its end, which would change its vector.
// Names such as C# and 50% keep theirs.
func trimPunctuation(text string) string {
	return strings.TrimRightFunc(strings.TrimSpace(text), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && r != '#' && r != '%'
	})
}

// isContent reports whether r is more than punctuation.
func isContent(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

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
