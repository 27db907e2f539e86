package embed

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	uax29 "github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"golang.org/x/text/unicode/norm"
)

var (
	english = newEnglish()
	// Operation names are words joined by dots and underscores. Typographic
	// apostrophes are normalized to the ASCII one of the stop list.
	separators = strings.NewReplacer("_", " ", ".", " ", "\u2019", "'")
	// Stop words that the Snowball list omits because they may be nouns, which they
	// rarely are in requests.
	furtherStopWords = []string{"can", "just", "now", "will"}
)

// Words returns the search terms of text: lower case, without English stop words,
// stemmed, with repetitions. A name such as listVLANs yields itself, list and VLANs.
func Words(text string) []string {
	tokens := english.Analyze([]byte(Plain(text)))
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = string(t.Term)
	}
	return words
}

// Plain returns text in a form that all tokenizers split into the same words: without dots and
// underscores inside words, with the parts of joined words appended.
func Plain(text string) string {
	words := strings.Fields(separators.Replace(norm.NFKC.String(text)))
	for _, w := range words {
		words = append(words, parts(w)...)
	}
	return strings.Join(words, " ")
}

// SplitNames returns text with names such as listVLANs and list_vlans as their parts.
func SplitNames(text string) string {
	text = strings.ReplaceAll(text, "_", " ")
	return camelCase.ReplaceAllStringFunc(text, func(name string) string { return strings.Join(parts(name), " ") })
}

// camelCase begins with two small letters: iOS and PowerPoint are single words.
var camelCase = regexp.MustCompile(`\b\p{Ll}{2,}\p{Lu}[\pL\pN]*`)

// parts splits DescribeInstances or listVLANs at its joints; nil when there are none.
func parts(word string) (list []string) {
	start, last := 0, ' '
	for i, r := range word {
		if unicode.IsLower(last) && unicode.IsUpper(r) {
			list = append(list, word[start:i])
			start = i
		}
		last = r
	}
	if start == 0 {
		return nil
	}
	return append(list, word[start:])
}

// StopWords returns the words that Words omits, in order.
func StopWords() []string { return slices.Sorted(maps.Keys(stopWords())) }

func stopWords() analysis.TokenMap {
	list := analysis.NewTokenMap()
	if err := list.LoadBytes(en.EnglishStopWords); err != nil {
		panic(err) // the list is compiled in
	}
	for _, w := range furtherStopWords {
		list.AddToken(w)
	}
	return list
}

func newEnglish() analysis.Analyzer {
	return &analysis.DefaultAnalyzer{
		Tokenizer: uax29.NewUnicodeTokenizer(),
		TokenFilters: []analysis.TokenFilter{
			en.NewPossessiveFilter(),
			lowercase.NewLowerCaseFilter(),
			stop.NewStopTokensFilter(stopWords()),
			en.NewEnglishStemmerFilter(),
		},
	}
}
