package index

import (
	"strings"

	"cairn/services/internal/embed"
)

// maxWords is how many words of a part are looked for. Elasticsearch allows
// 1,024 clauses; each word is looked for in two fields.
const maxWords = 256

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
