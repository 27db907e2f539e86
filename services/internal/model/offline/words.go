package offline

import (
	"strings"
	"unicode"

	"github.com/blevesearch/go-porterstemmer"
)

// token is one word of a question. A word as written may give several tokens:
// "europe-west4-a" is three, glued to each other.
type token struct {
	text  string // as written
	raw   string // the whole written word that it is part of
	low   string
	stem  string
	word  int  // which written word it belongs to
	ident bool // the written word is an identifier: it has digits or inner punctuation
	first bool // it begins a sentence
	brk   bool // punctuation ends a phrase before it
	paren bool // it opens a parenthesis
	stop  bool // it only carries grammar
}

// tokenize cuts a question into tokens.
func tokenize(s string) []token {
	var out []token
	first, brk := true, false
	for w, field := range strings.Fields(contractions.Replace(s)) {
		core := strings.TrimFunc(field, isEdge)
		if core == "" {
			brk = brk || strings.ContainsAny(field, "-–—:;,(")
			continue
		}
		brk = brk || strings.HasPrefix(field, "(")
		ident := isIdent(core)
		for i, part := range splitPunct(core) {
			low := strings.ToLower(part)
			out = append(out, token{
				text: part, raw: core, low: low, stem: stem(low), word: w, ident: ident,
				first: first && i == 0, brk: brk && i == 0, paren: i == 0 && strings.HasPrefix(field, "("),
				stop: !ident && stopWords[low] && part != strings.ToUpper(part) || low == "i" || low == "a" && !ident,
			})
		}
		tail := field[strings.LastIndex(field, core)+len(core):]
		first = strings.ContainsAny(tail, ".?!")
		brk = first || strings.ContainsAny(tail, ",;:)")
	}
	return joinPhrases(nameArticles(out))
}

// nameArticles takes an article that nothing follows for a name: "in site a".
func nameArticles(q []token) []token {
	for i := range q {
		if oneOf(q[i].low, "a|an|the") && (i+1 == len(q) || q[i+1].brk) {
			q[i].stop = false
		}
	}
	return q
}

func joinText(q []token) string {
	words := make([]string, len(q))
	for i, t := range q {
		words[i] = t.text
	}
	return strings.Join(words, " ")
}

// phraseAt gives the one word for the n words that begin at i; 0 for none.
func phraseAt(q []token, i int) (one string, n int) {
	for n := 3; n >= 2; n-- {
		if i+n > len(q) {
			continue
		}
		words := make([]string, n)
		for k := range words {
			words[k] = q[i+k].low
		}
		if one, ok := phrases[strings.Join(words, " ")]; ok && !q[i+1].brk {
			return one, n
		}
	}
	return "", 0
}

// meanWhere lets "where" ask for a location.
func meanWhere(t token) token {
	if t.low == "where" {
		t.stem, t.stop = "locat", false
	}
	return t
}

// joinPhrases makes one token of several words that mean one thing.
func joinPhrases(q []token) []token {
	var out []token
	for i := 0; i < len(q); i++ {
		t := q[i]
		if one, n := phraseAt(q, i); n > 0 {
			if t.low == "who" {
				out = append(out, t)
				t = q[i+1]
			} else {
				t.text = joinText(q[i : i+n])
			}
			t.low, t.stem, t.stop = one, stem(one), false
			i += n - 1
		}
		out = append(out, meanWhere(t))
	}
	return out
}

var contractions = strings.NewReplacer(
	"’", "'", "n't", " not", "N'T", " not", "'s ", " ", "'re ", " are ", "=", " = ", "%", " percent",
)

func isEdge(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '%'
}

func isIdent(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsDigit(r) || r == '.' || r == '_' || r == '@' || r == ':'
	})
}

func splitPunct(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '%' && r != '+'
	})
}

// nameParts cuts a name of data into lower-case words: "vendorProject",
// "vendor_project" and "VENDOR project" are alike.
func nameParts(s string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 0 {
			out = append(out, strings.ToLower(string(cur)))
			cur = cur[:0]
		}
	}
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && startsWord(rs, i):
			flush()
		}
		cur = append(cur, r)
	}
	flush()
	return out
}

// startsWord says whether the capital at i begins a word: after a small
// letter, or before one at the end of a run of capitals.
func startsWord(rs []rune, i int) bool {
	if unicode.IsLower(rs[i-1]) || unicode.IsDigit(rs[i-1]) {
		return true
	}
	return unicode.IsUpper(rs[i-1]) && i+2 < len(rs) && unicode.IsLower(rs[i+1]) && unicode.IsLower(rs[i+2])
}

// stem cuts a lower-case word to what its forms share.
func stem(low string) string {
	if len(low) < 4 || strings.ContainsFunc(low, unicode.IsDigit) {
		return strings.TrimSuffix(low, "s")
	}
	return porterstemmer.StemString(low)
}

// appendNorm appends the letters and digits of s, lower case, to buf.
func appendNorm(buf []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z':
			buf = append(buf, c+'a'-'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
			buf = append(buf, c)
		}
	}
	return buf
}

var numberWords = map[string]string{
	"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
	"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "fifteen": "15", "twenty": "20",
	"hundred": "100", "dozen": "12",
}

// digits gives the number a token writes, in digits; "" for none.
func (t token) digits() string {
	if n, ok := numberWords[t.low]; ok {
		return n
	}
	if t.low != "" && strings.Trim(t.low, "0123456789") == "" {
		return t.low
	}
	return ""
}
