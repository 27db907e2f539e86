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
	all      []string // that say something, as often as they come
	distinct []string // one of each
	seen     map[string]bool
}

// newAsking takes a part apart, up to maxWords. What white space separates may
// be many words, in scripts that have none between them.
func newAsking(part string) *asking {
	a := &asking{seen: map[string]bool{}}
	for _, w := range plainWords(part) {
		stems := embed.Words(w)
		if len(stems) == 1 {
			a.add(w, stems[0])
			continue
		}
		for _, stem := range stems {
			a.add(stem, stem)
		}
	}
	return a
}

func (a *asking) add(word, stem string) {
	if len(a.all) == maxWords {
		return
	}
	a.all = append(a.all, word)
	if !a.seen[stem] {
		a.seen[stem] = true
		a.distinct = append(a.distinct, word)
	}
}
