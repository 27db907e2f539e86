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
	text, raw string // as written, without and with the characters attached to it
	low, stem string
	number    string // the number it hasValueMember for, as in JSON
	date      string // the year, month or day it hasValueMember for, as in ISO 8601
	at        int    // index of the written word
	ident     bool   // the written word is an identifier: digits or inner punctuation
	brk       bool   // preceded by punctuation that ends a phrase
	stop      bool   // a function word
	paren     bool   // it opens a parenthesis
}

// span is a range of words; the end is exclusive.
type span [2]int

func (s span) has(i int) bool { return s[0] <= i && i < s[1] }
func (s span) empty() bool    { return s[0] >= s[1] }

// shortened expands abbreviations and merges compound terms.
var shortened = strings.NewReplacer(
	"’", "'", "n't", " not", "'s ", " ", "s' ", "s ", "'re ", " are ", "=", " = ", "%", " percent", "i.e.", "ie", "e.g.", "ie",
	"operating systems", "os", "operating system", "os", "data center", "datacenter", "virtual machine", "vm",
	"backed up", "backup", "IP address", "ip",
	"prior to", "before", "on or after", "since", "on or before", "until",
)

var (
	ordinal = `(\d{1,2})(?:st|nd|rd|th)?`
	month   = `(` + strings.Join(slices.Sorted(maps.Keys(months)), "|") + `)[a-z]*\.?`
	// writtenDate matches "20 August 2026", "Aug 20, 2026" and "March 2024".
	writtenDate = regexp.MustCompile(`(?i)\b(?:` + ordinal + ` (?:of )?)?` + month + `,? (?:` + ordinal + `,? )?((?:19|20)\d\d)\b`)
	isoDate     = regexp.MustCompile(`^(19|20)\d\d(-[01]\d(-[0-3]\d)?)?$`)
	// quantity matches 20,000, 1.5 and 16GB.
	quantity = regexp.MustCompile(`^(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(\pL*)$`)
)

// toISO rewrites a written date.
func toISO(date string) string {
	m := writtenDate.FindStringSubmatch(date)
	iso := m[4] + "-" + months[strings.ToLower(m[2])]
	if d := m[1] + m[3]; d != "" {
		iso += "-" + ("0" + d)[len(d)-1:]
	}
	return iso
}

// split splits a question into words.
func split(question string) []word {
	var out []word
	brk := true
	question = writtenDate.ReplaceAllStringFunc(shortened.Replace(question), toISO)
	for at, field := range strings.Fields(question) {
		core := strings.TrimFunc(field, func(r rune) bool { return !alphanumeric(r) })
		brk = brk || strings.HasPrefix(field, "(") || core == "" && strings.ContainsAny(field, "-–—:;,")
		before, after, _ := strings.Cut(field, core)
		for i, w := range parseWord(core, at) {
			w.brk, w.paren = brk && i == 0, strings.HasPrefix(before, "(") && i == 0
			out = append(out, w)
		}
		if core != "" {
			brk = strings.ContainsAny(after, ".?!,;:)")
		}
	}
	for i, w := range out {
		switch {
		case w.low == "where" && (w.brk || out[i-1].low == "and"):
			out[i].stem, out[i].stop = stem("location"), false
		case oneOf(w.low, "a|an|the") && (i+1 == len(out) || out[i+1].brk),
			w.text == "A" && i > 0, w.text == "I" && i > 0 && !oneOf(out[i-1].low, "do|can|could|should|did|may|if|that"):
			out[i].stop = false // a name: "in site a", "class I"
		}
	}
	return out
}

// parseWord splits a written word: a date or a number is one word, an identifier several.
func parseWord(core string, at int) (out []word) {
	low := strings.ToLower(core)
	if isoDate.MatchString(core) {
		w := word{text: core, raw: core, low: low, stem: low, date: core, at: at, ident: true}
		if len(core) == len("2026") {
			w.number = core
		}
		return []word{w}
	}
	if m := quantity.FindStringSubmatch(low); m != nil && (m[3] == "" || m[3] == "k" || units[m[3]] != "") {
		n := strings.TrimLeft(strings.ReplaceAll(m[1], ",", ""), "0") + m[2]
		if n == "" || n[0] == '.' {
			n = "0" + n
		}
		if m[3] == "k" && m[2] == "" {
			n, m[3] = n+"000", ""
		}
		out = []word{{text: strings.TrimSuffix(core, m[3]), raw: core, low: m[1] + m[2], stem: m[1] + m[2], number: n, at: at, ident: true}}
		if m[3] != "" {
			out = append(out, word{text: m[3], raw: core, low: m[3], stem: m[3], at: at, ident: true})
		}
		return out
	}
	ident := strings.ContainsFunc(core, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune("._@:", r) })
	parts := strings.FieldsFunc(core, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '+' })
	for i, part := range parts {
		low := strings.ToLower(part)
		w := word{text: part, raw: core, low: low, stem: stem(low), number: numerals[low], at: at, ident: ident}
		w.stop = !ident && stops[low] && part[1:] == low[1:]
		if i == 0 && len(parts) == 2 && strings.Trim(low, "0123456789") == "" && strings.Trim(parts[1], "0123456789") == parts[1] {
			w.number, w.ident = low, false // "40-foot"
		}
		out = append(out, w)
	}
	return out
}

// nameWords splits a name into lower-case words: "vendorProject", "vendor_project" and "VENDOR project" are equal.
func nameWords(name string) []string {
	if !strings.ContainsFunc(name, unicode.IsUpper) {
		return strings.FieldsFunc(name, func(r rune) bool { return !alphanumeric(r) })
	}
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

// oneOf reports whether low is one of the alternatives, which are separated by strokes.
func oneOf(low, alternatives string) bool {
	for alt := range strings.SplitSeq(alternatives, "|") {
		if low == alt {
			return true
		}
	}
	return false
}

// find returns the range in q, from i on, that matches pattern, whose words may be alternatives; start is -1 if there is none.
func find(q []word, i int, pattern string) (start, end int) {
	for ; i < len(q); i++ {
		if n := matchLength(q[i:], pattern); n > 0 {
			return i, i + n
		}
	}
	return -1, -1
}

// matchLength returns the number of words at the start of q that match all of pattern; 0 if they do not.
func matchLength(q []word, pattern string) (n int) {
	for alternatives := range strings.FieldsSeq(pattern) {
		if n == len(q) || n > 0 && q[n].brk || !oneOf(q[n].low, alternatives) {
			return 0
		}
		n++
	}
	return n
}
