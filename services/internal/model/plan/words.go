package plan

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/go-porterstemmer"
)

// A word is a word of a question.
type word struct {
	text string // as written
	low  string // lower case, without a possessive
	stem string
	brk  bool // preceded by punctuation that ends a phrase
}

const (
	maxWords   = 256 // of a question
	maxPhrase  = 6   // words of a question that one value may take
	maxSegment = 256 // bytes of a name that are split into words
)

var (
	// tokens matches a written word with the characters that join its parts, and comparison signs.
	tokens = regexp.MustCompile(`[<>]=?|[=≤≥%]|[\pL\pN][\pL\pN_.:/@+&-]*[\pL\pN+]|[\pL\pN]|/[\pL\pN][\pL\pN_./-]*`)
	// humps matches the ends of words in camel case: vendorProject, HTTPServer.
	humps = regexp.MustCompile(`([^\p{Lu}])(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll}\p{Ll})`)
)

// abbreviations replaces contractions, and terms of two words that data abbreviates.
var abbreviations = strings.NewReplacer("’", "'", "n't", " not", "N'T", " NOT", "operating systems", "os",
	"operating system", "os",
	"Operating systems", "os", "virtual machines", "vms", "virtual machine", "vm")

// split returns the first maxWords words of a question.
func split(question string) (words []word) {
	question = abbreviations.Replace(question)
	end := 0
	for _, span := range tokens.FindAllStringIndex(question, maxWords) {
		text := question[span[0]:span[1]]
		low := strings.ToLower(text)
		if low == "s" && span[0] > 0 && question[span[0]-1] == '\'' {
			end = span[1]
			continue
		}
		brk := end == 0 || strings.ContainsAny(question[end:span[0]], ",;:.?!()") ||
			strings.Contains(question[end:span[0]], " - ")
		words = append(words, word{text, low, stem(low), brk})
		end = span[1]
	}
	return words
}

// nameWords splits a name into lower-case words: vendorProject, vendor_project and "VENDOR project" are equal.
func nameWords(name string) []string {
	if len(name) > maxSegment {
		name = strings.ToValidUTF8(name[:maxSegment], "")
	}
	if len(name) > 1 {
		name = name[:1] + humps.ReplaceAllString(name[1:], "$1$3 $2$4")
	}
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !alphanumeric(r) })
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// fold returns the letters and digits of a text in lower case: "IBM Cloud" and ibmcloud are equal.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if !alphanumeric(r) && r != '+' {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// stem reduces a lower-case word to a stem shared by its forms.
func stem(low string) string {
	if len(low) < 5 || strings.ContainsFunc(low, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return Singular(low)
	}
	return porterstemmer.StemString(low)
}

// plurals are endings of nouns, each with that of the singular. None is the end of another.
var plurals = [...][2]string{
	{"ies", "y"}, {"ches", "ch"}, {"shes", "sh"}, {"xes", "x"}, {"sses", "ss"}, {"ss", "ss"}, {"us", "us"}, {"is", "is"},
	{"s", ""},
}

// Singular returns the singular of a plural noun, also of several words.
func Singular(name string) string {
	for _, p := range plurals {
		if base, ok := strings.CutSuffix(name, p[0]); ok && len(base) > 1 {
			return base + p[1]
		}
	}
	return name
}

// plural returns the plural of a noun.
func plural(name string) string {
	switch {
	case name == "" || Singular(name) != name:
		return name
	case strings.HasSuffix(name, "y") && len(name) > 2 && !strings.ContainsRune("aeiou", rune(name[len(name)-2])):
		return name[:len(name)-1] + "ies"
	case slices.ContainsFunc([]string{"s", "x", "ch", "sh"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	}):
		return name + "es"
	}
	return name + "s"
}

// abbreviates reports whether a name's word shortens a word of a question: part of partitions, rota of rotational,
// env of environment. The rest of the word must not be a word by itself, as in namespace.
func abbreviates(name, low string) bool {
	rest, ok := strings.CutPrefix(Singular(low), name)
	return ok && len(name) > 2 && len(rest) > 2 && endings.MatchString(rest)
}

// endings matches what abbreviations leave out.
var endings = regexp.MustCompile(
	`(tion|ional|ment|tory|ature|ory|cation|ability|ency|ance|ies|ase|ure|ber|imum|aph|ribution|essor)$`)

// alike reports whether a word of a question and a word of a name denote the same.
func alike(w word, name string) bool {
	return w.low == name || w.stem == stem(name) || abbreviates(name, w.low) || lexicon.synonyms[w.stem][stem(name)]
}
