package embed

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	uax29 "github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
)

var (
	english = newEnglish()
	// Names of operations are words joined by dots and underscores. Keyboards and word
	// processors disagree on the apostrophe; the stop list knows the first's.
	separators = strings.NewReplacer("_", " ", ".", " ", "\u2019", "'")
	// The Snowball list leaves out words that may be nouns. In requests they
	// hardly ever are.
	furtherStopWords = []string{"can", "just", "now", "will"}
)

// Words returns the words of text by which search compares: in lower case,
// without English stop words, stemmed, as often as in the text. A name such as
// listVLANs counts as itself, list and VLANs.
func Words(text string) []string {
	tokens := english.Analyze([]byte(Plain(text)))
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = string(t.Term)
	}
	return words
}

// Plain returns text as words that any tokenizer takes apart: nothing is joined
// by dots and underscores, and the parts of joined words follow at the end.
func Plain(text string) string {
	words := strings.Fields(separators.Replace(text))
	for _, w := range words {
		words = append(words, parts(w)...)
	}
	return strings.Join(words, " ")
}

// parts takes DescribeInstances or listVLANs apart where it is joined; nil when
// it is not.
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

// StopWords returns the words that Words leaves out, in order.
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
