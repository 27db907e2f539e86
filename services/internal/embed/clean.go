package embed

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// cleaning names what clean does. It is part of a space's name: another
// cleaning makes other vectors.
const cleaning = "clean-1"

var (
	ascii = strings.NewReplacer(
		"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'",
		"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`,
		"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	)
	// apart are the symbols at which BERT splits words and Ollama does not.
	apart = "$+<=>^|~`"
)

// maxWord is the longest word, in letters, that BERT looks at. Ollama takes all,
// in a time that grows with more than the square of the length: 1.4 s for 3,200
// letters, more than a minute for 6,300, in which no other text has its turn.
const maxWord = 100

// clean makes of text what a model's tokenizer takes as it was trained to. A
// text without content is empty.
//
// What Ollama leaves out for word-piece tokenizers is done here: without it 20
// of 999 texts had a vector with a cosine below 0.999, down to 0.76, to the one
// that all-MiniLM-L6-v2 should give; with it, 4.
func clean(text string, wordPiece bool) string {
	text = strings.ToValidUTF8(text, " ")
	if wordPiece {
		text = norm.NFD.String(ascii.Replace(text))
	}
	var b strings.Builder
	b.Grow(len(text))
	letters := 0
	for _, r := range text {
		if letters++; !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			letters = 0
		}
		if wordPiece && letters > maxWord {
			b.WriteByte(' ')
			letters = 1
		}
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case unicode.IsSpace(r), unicode.Is(unicode.Cc, r):
			b.WriteByte(' ')
		case invisible(r), wordPiece && unicode.In(r, unicode.Cf, unicode.Mn):
		case wordPiece && strings.ContainsRune(apart, r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// invisible are the characters of no width and no meaning. Joiners have one:
// they hold emoji and the letters of some scripts together.
func invisible(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u2060', '\ufeff':
		return true
	}
	return false
}
