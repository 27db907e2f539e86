package embed

import (
	"regexp"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
)

var (
	english = newEnglish()
	// joint is where DescribeInstances or listVLANs is joined.
	joint = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)
	// Names of operations are words joined by dots and underscores. Keyboards and word
	// processors disagree on the apostrophe; the stop list knows the first's.
	plain = strings.NewReplacer("_", " ", ".", " ", "\u2019", "'")
	// The Snowball list leaves out words that may be nouns. In requests they
	// hardly ever are.
	furtherStopWords = []string{"can", "just", "now", "will"}
)

// Words returns the words of text by which search compares: in lower case,
// without English stop words, stemmed, as often as in the text. A name such as
// listVLANs counts as itself, list and VLANs.
func Words(text string) []string {
	tokens := english.Analyze([]byte(withParts(plain.Replace(text))))
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = string(t.Term)
	}
	return words
}

// withParts adds the parts of joined words at the end of text.
func withParts(text string) string {
	all := []string{text}
	for _, word := range strings.Fields(text) {
		if joint.MatchString(word) {
			all = append(all, joint.ReplaceAllString(word, "$1 $2"))
		}
	}
	return strings.Join(all, " ")
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
