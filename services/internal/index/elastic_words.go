package index

import (
	"strings"

	"cairn/services/internal/embed"
)

// maxWords bounds the words of a part. Elasticsearch allows 1,024 clauses, and each
// word is matched in three fields.
const maxWords = 256

// terms is the words of a part of a query.
type terms struct {
	all      []string // without stop words, repetitions included
	distinct []string // each once
	seen     map[string]bool
}

// newTerms splits a part into words, up to maxWords. In scripts without spaces
// one token may contain many words.
func newTerms(part string) *terms {
	a := &terms{seen: map[string]bool{}}
	for _, w := range strings.Fields(embed.Plain(part)) {
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

func (a *terms) add(word, stem string) {
	if len(a.all) == maxWords {
		return
	}
	a.all = append(a.all, word)
	if !a.seen[stem] {
		a.seen[stem] = true
		a.distinct = append(a.distinct, word)
	}
}
