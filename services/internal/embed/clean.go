package embed

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// cleaningVersion is the version of clean. It is part of a space's name, because a change
// changes vectors.
const cleaningVersion = "clean-1"

var (
	ascii = strings.NewReplacer(
		"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'",
		"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`,
		"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	)
	// splitSymbols are symbols at which BERT splits words and Ollama does not.
	splitSymbols = "$+<=>^|~`"
)

// maxWord is the length in letters beyond which BERT treats a word as unknown.
// Ollama tokenizes longer ones in more than quadratic time: 1.4 s for 3,200
// letters, over a minute for 6,300, blocking all other texts.
const maxWord = 100

// clean normalizes text as the model's tokenizer does in training. A text without
// content becomes empty.
//
// Ollama omits this for WordPiece tokenizers: without it 20 of 999 texts had a
// vector with a cosine below 0.999 (down to 0.76) to the reference vector of
// all-MiniLM-L6-v2; with it, 4.
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
		case wordPiece && strings.ContainsRune(splitSymbols, r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// invisible are characters without width and meaning. Joiners are kept: they connect
// emoji and the letters of some scripts.
func invisible(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u2060', '\ufeff':
		return true
	}
	return false
}
