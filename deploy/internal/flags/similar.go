package flags

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/schemas"
)

// Similar returns the words that begin with text or that have an edit distance to it of at most a
// third of its length, at least 1. It ignores the case of text.
func Similar(text string, words []string) []string {
	text = strings.ToLower(text)
	limit := max(1, len(text)/3) // a distance of 2 fits any word of 3 letters
	var list []string
	for _, word := range words {
		begins := len(text) > 1 && strings.HasPrefix(word, text)
		if (begins || schemas.EditDistance(text, word, limit) <= limit) && !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
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
