package offline

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/go-porterstemmer"
)

// word is one word of a question. "europe-west4-a" is three words with the same raw and at.
type word struct {
	text, raw string // as written, without and with what it is glued to
	low, stem string
	at        int  // index of the written word
	ident     bool // the written word is an identifier: digits or inner punctuation
	brk       bool // punctuation ends a phrase before it
	paren     bool // it opens a parenthesis
	stop      bool // a function word
}

// span is a range of words; the end is exclusive.
type span [2]int

func (s span) has(i int) bool { return s[0] <= i && i < s[1] }
func (s span) empty() bool    { return s[0] >= s[1] }

// shortened expands abbreviations and merges compound terms.
var shortened = strings.NewReplacer(
	"’", "'", "n't", " not", "'s ", " ", "'re ", " are ", "=", " = ", "%", " percent", "i.e.", "ie", "e.g.", "ie", "operating systems", "os",
	"operating system", "os",
	"data center", "datacenter", "virtual machine", "vm", "backed up", "backup", "IP address", "ip", "who hosts", "who provider",
)

// monthYear matches a date such as "March 2024".
var monthYear = regexp.MustCompile(`(?i)\b(` + strings.Join(slices.Collect(maps.Keys(months)), "|") + `) (19|20)\d\d\b`)

// split splits a question into words.
func split(question string) []word {
	var out []word
	brk := true
	question = monthYear.ReplaceAllStringFunc(shortened.Replace(question), func(date string) string {
		month, year, _ := strings.Cut(date, " ")
		return year + "-" + months[strings.ToLower(month)]
	})
	for at, field := range strings.Fields(question) {
		core := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		paren := strings.HasPrefix(field, "(")
		brk = brk || paren || core == "" && strings.ContainsAny(field, "-–—:;,")
		ident := strings.ContainsFunc(core, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune("._@:", r) })
		for i, part := range strings.FieldsFunc(core, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '+' }) {
			low := strings.ToLower(part)
			stop := !ident && stops[low] && part[1:] == low[1:]
			out = append(out, word{part, core, low, stem(low), at, ident, brk && i == 0, paren && i == 0, stop})
		}
		if core != "" {
			brk = strings.ContainsAny(field[strings.LastIndex(field, core)+len(core):], ".?!,;:)")
		}
	}
	for i, w := range out {
		switch {
		case w.low == "where" && (w.brk || out[i-1].low == "and"):
			out[i].stem, out[i].stop = stem("location"), false
		case oneOf(w.low, "a|an|the") && (i+1 == len(out) || out[i+1].brk):
			out[i].stop = false // a name: "in site a"
		}
	}
	return out
}

// nameWords splits a name into lower-case words: "vendorProject", "vendor_project" and
// "VENDOR project" are equal.
func nameWords(name string) []string {
	var b strings.Builder
	rs := []rune(name)
	for i, r := range rs {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(rs[i-1]) || i+2 < len(rs) && unicode.IsLower(rs[i+1]) && unicode.IsLower(rs[i+2])) {
			b.WriteByte(' ')
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// stem reduces a lower-case word to a stem shared by its forms.
func stem(low string) string {
	if s := short[low]; s != "" {
		return s
	}
	if len(low) < 4 || strings.ContainsAny(low, "0123456789") {
		return strings.TrimSuffix(low, "s")
	}
	return porterstemmer.StemString(low)
}

// digits returns the number in a word; "" if there is none.
func (w word) digits() string {
	if n, ok := numerals[w.low]; ok || strings.Trim(w.low, "0123456789") != "" {
		return n
	}
	return w.low
}

// content reports whether the word may denote data.
func (w word) content() bool { return !w.stop && !fillers[w.low] }

// oneOf reports whether low is one of the alternatives, which are separated by strokes.
func oneOf(low, alternatives string) bool {
	for alt := range strings.SplitSeq(alternatives, "|") {
		if low == alt {
			return true
		}
	}
	return false
}

// find returns the range in q, from i on, that matches pattern, whose words may be
// alternatives; start is -1 if there is none.
func find(q []word, i int, pattern string) (start, end int) {
	words := strings.Fields(pattern)
	for ; i+len(words) <= len(q); i++ {
		n := 0
		for n < len(words) && oneOf(q[i+n].low, words[n]) && (n == 0 || !q[i+n].brk) {
			n++
		}
		if n == len(words) {
			return i, i + n
		}
	}
	return -1, -1
}
