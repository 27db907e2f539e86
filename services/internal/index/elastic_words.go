package index

import (
	"regexp"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"

	"cairn/services/internal/embed"
)

// maxWords is how many words of a part are looked for. Elasticsearch allows
// 1,024 clauses; each word is looked for in two fields.
const maxWords = 256

var (
	// joints is where listVLANs is joined.
	joints = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)
	// The tokenizer of Elasticsearch takes names of operations for one word,
	// and the stop list knows one apostrophe.
	separators = strings.NewReplacer("_", " ", ".", " ", "\u2019", "'")
)

// plainWords returns text as words that the analyzer of Elasticsearch takes
// apart where embed.Words does.
func plainWords(text string) []string {
	words := strings.Fields(separators.Replace(text))
	for _, w := range words {
		if joints.MatchString(w) {
			words = append(words, strings.Fields(joints.ReplaceAllString(w, "$1 $2"))...)
		}
	}
	return words
}

// stopWords returns the long English list in order. The four at its end may be
// nouns; in requests they hardly ever are.
func stopWords() []string {
	list := analysis.NewTokenMap()
	if err := list.LoadBytes(en.EnglishStopWords); err != nil {
		panic(err) // the list is compiled in
	}
	var words []string
	for w := range list {
		words = append(words, w)
	}
	slices.Sort(words)
	return append(words, "can", "just", "now", "will")
}

// asking is the words of a part of a query.
type asking struct {
	text     string   // all of them that say something
	distinct []string // one of each
}

func newAsking(part string) asking {
	var words, distinct []string
	seen := map[string]bool{}
	for _, w := range plainWords(part) {
		stem := strings.Join(embed.Words(w), " ")
		if stem == "" {
			continue
		}
		if !seen[stem] {
			seen[stem] = true
			distinct = append(distinct, w)
		}
		if words = append(words, w); len(words) == maxWords {
			break
		}
	}
	return asking{strings.Join(words, " "), distinct}
}
