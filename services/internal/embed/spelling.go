package embed

import (
	"cmp"
	"iter"
	"math"
	"regexp"
	"strings"
	"unicode"

	"cairn/services/internal/embed/static"
)

const (
	// minMisspelt is the length of the shortest word that is corrected: shorter ones differ from too many others.
	minMisspelt = 6
	// maxMisspelt bounds the unknown words of a text that are compared with the dictionary, each in about 20 µs.
	maxMisspelt = 32
)

var anyWord = regexp.MustCompile(`[\pL\pN]+`)

// Correct returns text with its misspelt words corrected: English words with one letter too much or missing, a
// wrong letter or two letters swapped. A name that resembles a word is corrected as well.
func Correct(text string) string {
	unknown := 0
	return anyWord.ReplaceAllStringFunc(text, func(word string) string {
		lower := strings.ToLower(word)
		if _, ok := rank(lower); ok || !misspellable(lower) || unknown == maxMisspelt {
			return word
		}
		unknown++
		return cmp.Or(correction(lower), word)
	})
}

// misspellable reports whether word may be a misspelt English word of minMisspelt letters.
func misspellable(word string) bool {
	return len(word) >= minMisspelt-1 && len(word) < maxWord &&
		!strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsNumber(r) })
}

// correction returns the most frequent word that differs from word by one typing error, or "".
func correction(word string) (best string) {
	lowest := int32(math.MaxInt32)
	for edited := range edits(word) {
		if place, ok := rank(edited); ok && place < lowest && len(edited) >= minMisspelt {
			best, lowest = edited, place
		}
	}
	return best
}

// edits yields the words that differ from an ASCII word by one typing error.
func edits(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(word) + 1 {
			head, tail := word[:i], word[i:]
			next := tail[min(1, len(tail)):] // after a letter
			if len(tail) > 0 && !yield(head+next) ||
				len(next) > 0 && !yield(head+next[:1]+tail[:1]+next[1:]) {
				return
			}
			for letter := 'a'; letter <= 'z'; letter++ {
				if !yield(head+string(letter)+tail) || len(tail) > 0 && !yield(head+string(letter)+next) {
					return
				}
			}
		}
	}
}

// rank returns the place of a lower-case word, or of its singular, in the dictionary, where frequent words come
// first. The dictionary is the vocabulary of the token table that is part of the program.
func rank(word string) (place int32, ok bool) {
	table, err := static.BuiltIn()
	if err != nil {
		panic(err) // the table is compiled in
	}
	if place, ok = table.Rank(word); !ok {
		place, ok = table.Rank(strings.TrimSuffix(word, "s"))
	}
	return place, ok
}
