package embed

import (
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
)

var (
	english = newEnglish()
	// Names of operations are words joined by underscores. Keyboards and word
	// processors disagree on the apostrophe; the stop list knows the first's.
	plain = strings.NewReplacer("_", " ", "\u2019", "'")
	// The Snowball list leaves out words that may be nouns. In requests they
	// hardly ever are.
	furtherStopWords = []string{"can", "just", "now", "will"}
)

// Words returns the words of text by which search compares: in lower case,
// without English stop words, stemmed, in order and as often as in the text.
func Words(text string) []string {
	tokens := english.Analyze([]byte(plain.Replace(text)))
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = string(t.Term)
	}
	return words
}

func newEnglish() analysis.Analyzer {
	stopWords := analysis.NewTokenMap()
	if err := stopWords.LoadBytes(en.EnglishStopWords); err != nil {
		panic(err) // the list is compiled in
	}
	for _, w := range furtherStopWords {
		stopWords.AddToken(w)
	}
	return &analysis.DefaultAnalyzer{
		Tokenizer: unicode.NewUnicodeTokenizer(),
		TokenFilters: []analysis.TokenFilter{
			en.NewPossessiveFilter(),
			lowercase.NewLowerCaseFilter(),
			stop.NewStopTokensFilter(stopWords),
			en.NewEnglishStemmerFilter(),
		},
	}
}
