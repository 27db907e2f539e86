package index

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

// count returns the distinct words in order of first occurrence and their counts.
func count(words []string) (distinct []string, counts []float32) {
	positions := make(map[string]int, len(words))
	for _, w := range words {
		i, ok := positions[w]
		if !ok {
			i = len(distinct)
			positions[w] = i
			distinct, counts = append(distinct, w), append(counts, 0)
		}
		counts[i]++
	}
	return distinct, counts
}
