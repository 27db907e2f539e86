package index

import "math"

// BM25 parameters, the defaults of Elasticsearch and Bleve.
const (
	k1 = 1.2  // saturation of repeated words
	b  = 0.75 // normalization by text length
)

// field is the inverted index of one text field of a pool.
type field struct {
	words   postings[string]
	lengths []uint32 // in words, by row
	total   int      // of the lengths of the live rows
}

func (f *field) add(row uint32, words []string) {
	distinct, counts := count(words)
	for i, word := range distinct {
		f.words.add(word, row, counts[i])
	}
	f.lengths = append(f.lengths, uint32(len(words)))
	f.total += len(words)
}

func (f *field) remove(row uint32) { f.total -= int(f.lengths[row]) }

func (f *field) renumber(to []int) {
	f.words.renumber(to)
	f.lengths = renumbered(f.lengths, to)
}

// searchText scores the rows that are not hidden by BM25 over title, body and instructions. coverage is the
// largest share of the query's distinct words found in one row.
func (p *pool) searchText(words []string, hidden []bool) (found []match, coverage float64) {
	distinct, counts := count(words)
	scores, occurrences := floatPool.get(len(p.ids)), occurrencePool.get(len(p.ids))
	defer floatPool.put(scores)
	defer occurrencePool.put(occurrences)
	for i, word := range distinct {
		for _, f := range []*field{&p.title, &p.body, &p.instructions} {
			p.scoreWord(f, word, float64(counts[i]), *scores)
			for _, e := range f.words[word] {
				if row := &(*occurrences)[e.row]; row.last != uint32(i+1) && !hidden[e.row] {
					row.last = uint32(i + 1)
					row.words++
					coverage = max(coverage, float64(row.words))
				}
			}
		}
	}
	return p.best(*scores, hidden), coverage / max(1, float64(len(distinct)))
}

// scoreWord adds the score of a word, which the query contains n times, to each
// row whose field contains it.
func (p *pool) scoreWord(f *field, word string, n float64, scores []float64) {
	entries := f.words[word]
	all, having := float64(len(p.rows)), live(entries, p.dead)
	idf := math.Log(1 + (all-having+0.5)/(having+0.5))
	average := float64(f.total) / all
	for _, e := range entries {
		often, length := float64(e.value), float64(f.lengths[e.row])
		norm := k1 * (1 - b + b*length/average)
		scores[e.row] += n * idf * often * (k1 + 1) / (often + norm)
	}
}

// count returns the distinct words in order of first occurrence and their counts.
func count(words []string) (distinct []string, counts []float32) {
	at := make(map[string]int, len(words))
	for _, w := range words {
		i, ok := at[w]
		if !ok {
			i = len(distinct)
			at[w] = i
			distinct, counts = append(distinct, w), append(counts, 0)
		}
		counts[i]++
	}
	return distinct, counts
}
