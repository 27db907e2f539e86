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
	number    string // the number it stands for, as in JSON
	date      string // the year, month or day it stands for, as in ISO 8601; without a year "-05" or "-05-31"
	line      string // the question
	from, to  int    // its bytes in the question
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

const day, year = `(\d{1,2})(?:st|nd|rd|th)?`, `((?:19|20)\d\d)`

var (
	// written matches "20 August 2026", "Aug 20, 2026", "March 2024" and "May".
	written = `(?:` + day + ` (?:of )?)?\b(` + strings.Join(slices.Sorted(maps.Keys(months)), "|") + `)\b\.?(?: ` + day +
		`\b)?(?:,? ` + year + `\b)?`
	chunks  = regexp.MustCompile(`(?i)` + written + `|[<>]=?|[=≤≥%]|[^\s<>=≤≥%]+`)
	isoDate = regexp.MustCompile(`^(19|20)\d\d(-[01]\d(-[0-3]\d)?)?$`)
	// quantity matches 20,000, 1.5 and 16GB.
	quantity = regexp.MustCompile(`^(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(\pL*)$`)
	// attached matches the ends of contractions and possessives.
	attached = regexp.MustCompile(`(?i)['’](?:s|re|ve|ll|d|m)$`)
)

// toISO returns the date of a match of written, or "": a month without a day and a year must begin with a capital, and be neither the
// first word nor the auxiliary "May".
func toISO(question string, m []int) string {
	group := func(i int) string { return question[max(m[2*i], 0):max(m[2*i+1], 0)] }
	iso := group(4) + "-" + months[strings.ToLower(group(2))]
	bound := strings.HasSuffix(question[:m[0]], "between ") || strings.HasSuffix(question[:m[0]], "from ")
	if group(4) == "" && (m[0] == 0 || !unicode.IsUpper(rune(group(2)[0])) && !bound) {
		return ""
	}
	if d := group(1) + group(3); d != "" {
		iso += "-" + ("0" + d)[len(d)-1:]
	}
	return iso
}

// split splits a question into words.
func split(question string) []word {
	var out []word
	brk := true
	for at, m := range chunks.FindAllStringSubmatchIndex(question, -1) {
		field := question[m[0]:m[1]]
		if len(m) > 5 && m[4] >= 0 {
			if date := toISO(question, m); date != "" {
				low := strings.ToLower(field)
				w := word{text: field, raw: field, low: low, stem: low, date: date, at: at, brk: brk}
				w.line, w.from, w.to, brk = question, m[0], m[1], false
				out = append(out, w)
				continue
			}
		}
		core := strings.TrimFunc(field, func(r rune) bool { return !alphanumeric(r) && !strings.ContainsRune("<>=≤≥%", r) })
		brk = brk || strings.HasPrefix(field, "(") || core == "" && strings.ContainsAny(field, "-–—:;,")
		before, after, _ := strings.Cut(field, core)
		if strings.HasSuffix(before, "-") && quantity.MatchString(core) {
			core, before = "-"+core, before[:len(before)-1]
		}
		start, end := m[0]+len(before), m[0]+len(before)+len(core)
		for i, w := range parseWord(core, at) {
			w.brk, w.paren = brk && i == 0, strings.HasPrefix(before, "(") && i == 0
			w.line, w.from, w.to = question, start, end
			out = append(out, w)
		}
		if initial := after == "." && (len(core) == 1 || oneOf(core, "Dr|Mr|Mrs|Ms|Prof|St|No")); core != "" {
			brk = strings.ContainsAny(after, ".?!,;:)") && !initial
		}
	}
	return mergePhrases(out)
}

// mergePhrases replaces phrases by one word and marks the articles that are names: "in site a", "class I".
func mergePhrases(q []word) (out []word) {
	for i := 0; i < len(q); i++ {
		w := q[i]
		for n := 3; n > 1; n-- {
			if i+n > len(q) || slices.ContainsFunc(q[i+1:i+n], func(w word) bool { return w.brk }) {
				continue
			}
			key := w.stem
			for _, next := range q[i+1 : i+n] {
				key += "-" + next.stem
			}
			if low := phrases[key]; low != "" {
				w.low, w.stem, w.stop, w.to = low, stem(low), stops[low], q[i+n-1].to
				i += n - 1
				break
			}
		}
		out = append(out, w)
	}
	for i, w := range out {
		switch {
		case w.low == "where" && (w.brk || out[i-1].low == "and"):
			out[i].stem, out[i].stop = stem("location"), false
		case oneOf(w.low, "a|an|the") && (i+1 == len(out) || out[i+1].brk),
			w.text == "A" && i > 0, w.text == "I" && i > 0 && !oneOf(out[i-1].low, "do|can|could|should|did|may|if|that"):
			out[i].stop = false
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
	if out := parseQuantity(core, at); out != nil {
		return out
	}
	if end := attached.FindString(core); end != "" && end != core {
		out = parseWord(strings.TrimSuffix(core, end), at)
		for i := range out {
			out[i].raw = core
		}
		return out
	}
	for _, part := range strings.Fields(contractions[strings.NewReplacer("'", "", "’", "").Replace(low)]) {
		out = append(out, word{text: core, raw: core, low: part, stem: part, at: at, stop: part != "not"})
	}
	if out != nil {
		return out
	}
	ident := strings.ContainsFunc(core, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune("._@:", r) })
	parts := strings.FieldsFunc(core, func(r rune) bool { return !alphanumeric(r) && !strings.ContainsRune("+<>=≤≥%", r) })
	for i, part := range parts {
		low := strings.ToLower(part)
		if low == "%" {
			low = "percent"
		}
		w := word{text: part, raw: core, low: low, stem: stem(low), number: numerals[low], at: at, ident: ident}
		w.stop = !ident && stops[low] && part[1:] == low[1:]
		if i == 0 && len(parts) == 2 && strings.Trim(low, "0123456789") == "" && strings.Trim(parts[1], "0123456789") == parts[1] {
			w.number, w.ident = low, false // "40-foot"
		}
		out = append(out, w)
	}
	return out
}

// parseQuantity returns the words of a number and the unit attached to it; nil if the written word is none.
func parseQuantity(core string, at int) []word {
	digits, sign := strings.ToLower(core), ""
	if strings.HasPrefix(digits, "-") {
		digits, sign = digits[1:], "-"
	}
	m := quantity.FindStringSubmatch(digits)
	if m == nil || m[3] != "" && m[3] != "k" && units[m[3]] == "" || m[3] == "s" && len(m[1]) == len("1700") { // "the 1700s"
		return nil
	}
	n := strings.TrimLeft(strings.ReplaceAll(m[1], ",", ""), "0") + m[2]
	if n == "" || n[0] == '.' {
		n = "0" + n
	}
	if m[3] == "k" && m[2] == "" {
		n, m[3] = n+"000", ""
	}
	w := word{text: strings.TrimSuffix(core, m[3]), raw: core, low: m[1] + m[2], stem: m[1] + m[2], number: sign + n, at: at, ident: true}
	if m[3] == "" {
		return []word{w}
	}
	return []word{w, {text: m[3], raw: core, low: m[3], stem: m[3], at: at, ident: true}}
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// humps matches the ends of words in camel case: "vendorProject", "HTTPServer".
var humps = regexp.MustCompile(`([^\p{Lu}])(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll}\p{Ll})`)

// nameWords splits a name into lower-case words: "vendorProject", "vendor_project" and "VENDOR project" are equal. "vCPU" is one word.
func nameWords(name string) []string {
	if len(name) > 1 {
		name = name[:1] + humps.ReplaceAllString(name[1:], "$1$3 $2$4")
	}
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !alphanumeric(r) })
}

// mergeWords replaces the phrases of two words in a name by one, as in a question: "virtual machines" are vms.
func mergeWords(words []string) (out []string) {
	for i := 0; i < len(words); i++ {
		low := words[i]
		if i+1 < len(words) {
			if phrase := phrases[stem(low)+"-"+stem(words[i+1])]; phrase != "" {
				low, i = phrase, i+1
			}
		}
		out = append(out, low)
	}
	return out
}

// stem reduces a lower-case word to a stem shared by its forms.
func stem(low string) string {
	if s := short[low]; s != "" {
		return s
	}
	if len(strings.TrimSuffix(low, "s")) < 4 || strings.ContainsAny(low, "0123456789") {
		return strings.TrimSuffix(low, "s")
	}
	return porterstemmer.StemString(low)
}

// oneOf reports whether low is one of the alternatives, which are separated by strokes.
func oneOf(low, alternatives string) bool {
	if !strings.Contains(alternatives, low) { // faster than the comparison with each
		return false
	}
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
	for more := true; more; n++ {
		var alternatives string
		alternatives, pattern, more = strings.Cut(pattern, " ")
		if n == len(q) || n > 0 && q[n].brk || !oneOf(q[n].low, alternatives) {
			return 0
		}
	}
	return n
}

// mapped returns the results of f for the items of a list.
func mapped[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, item := range list {
		out[i] = f(item)
	}
	return out
}

// ternary returns yes if the condition holds, otherwise no.
func ternary[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}
