package flags

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Similar returns the words that may be meant by text: those that it begins, and those
// within a third of its length in edits, at least one. It ignores case.
func Similar(text string, words []string) []string {
	text = strings.ToLower(text)
	limit := max(1, len(text)/3) // a distance of 2 fits any word of 3 letters
	var found []string
	for _, word := range words {
		begins := len(text) > 1 && strings.HasPrefix(word, text)
		if (begins || edits(text, word) <= limit) && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	return found
}

// DidYouMean returns a question with the words that are similar to text, or an empty text.
func DidYouMean(text string, words []string) string {
	return question(Similar(text, words))
}

func question(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(words, " or ") + "?"
}

// edits returns the optimal string alignment distance of a and b: the number of bytes that
// are inserted, deleted, replaced, or exchanged with the next one.
func edits(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// commandWords returns the names and aliases of the subcommands of cmd.
func commandWords(cmd *cobra.Command) (words []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			words = append(append(words, sub.Name()), sub.Aliases...)
		}
	}
	return words
}

// synonymous returns the subcommands of cmd that have text as a synonym.
func synonymous(cmd *cobra.Command, text string) (names []string) {
	for _, sub := range cmd.Commands() {
		if slices.ContainsFunc(sub.SuggestFor, func(s string) bool { return strings.EqualFold(s, text) }) {
			names = append(names, sub.Name())
		}
	}
	return names
}

// flagWords returns the names of the flags of cmd.
func flagWords(cmd *cobra.Command) (words []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { words = append(words, f.Name) })
	return words
}
