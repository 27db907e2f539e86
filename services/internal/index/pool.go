package index

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"sync"

	"cairn/services/internal/embed"
)

// pool holds the documents of one kind and tenant, one per row. A replaced or
// removed document leaves a dead row until the next sweep.
type pool struct {
	rows         map[string]uint32           // of live documents
	ids          []string                    // by row
	dead         []bool                      // by row
	attributes   []attributes                // by row
	several      map[string]postings[string] // by field that has several values, for filters
	title        field
	body         field
	instructions field
	vectors      vectors
	grams        *sparse // n-grams in addition to static vectors; else nil
}

// content is the indexed content of a document.
type content struct {
	title, body, instructions []string
	vectors                   [][]float32
	grams                     []float32 // nil: not compared
	attributes                attributes
	labels, capabilities      []string
}

func newPool(space embed.Space) *pool {
	p := &pool{
		rows:         map[string]uint32{},
		several:      map[string]postings[string]{"labels": {}, "capabilities": {}},
		title:        field{words: postings[string]{}},
		body:         field{words: postings[string]{}},
		instructions: field{words: postings[string]{}},
		vectors:      newVectors(space),
	}
	if space.Static {
		p.grams = newSparse()
	}
	return p
}

func (p *pool) put(id string, c content) {
	p.remove(id)
	row := uint32(len(p.ids))
	p.rows[id] = row
	p.ids = append(p.ids, id)
	p.dead = append(p.dead, false)
	p.attributes = append(p.attributes, c.attributes)
	p.several["labels"].addDistinct(row, c.labels)
	p.several["capabilities"].addDistinct(row, c.capabilities)
	p.title.add(row, c.title)
	p.body.add(row, c.body)
	p.instructions.add(row, c.instructions)
	for _, v := range c.vectors {
		p.vectors.add(row, v)
	}
	if p.grams != nil {
		p.grams.add(row, c.grams)
	}
}

func (p *pool) remove(id string) {
	row, ok := p.rows[id]
	if !ok {
		return
	}
	delete(p.rows, id)
	p.dead[row] = true
	p.title.remove(row)
	p.body.remove(row)
	p.instructions.remove(row)
	p.vectors.remove(row)
	if p.grams != nil {
		p.grams.remove(row)
	}
}

// prepareSearch prepares the pool for searches after changes. Dead rows are swept when
// their share is large enough to amortize the cost.
func (p *pool) prepareSearch() {
	if dead := len(p.ids) - len(p.rows); dead*sweepShare > len(p.ids) {
		p.sweep()
	}
	p.vectors.refresh()
	if p.grams != nil {
		p.grams.refresh()
	}
}

// sweepShare is the inverse of the share of dead rows above which a sweep starts.
const sweepShare = 8

func (p *pool) sweep() {
	to := make([]int, len(p.ids))
	kept := 0
	for row, id := range p.ids {
		to[row] = -1
		if !p.dead[row] {
			to[row] = kept
			p.rows[id] = uint32(kept)
			kept++
		}
	}
	p.ids = renumbered(p.ids, to)
	p.dead = make([]bool, kept)
	p.attributes = renumbered(p.attributes, to)
	for _, values := range p.several {
		values.renumber(to)
	}
	p.title.renumber(to)
	p.body.renumber(to)
	p.instructions.renumber(to)
	p.vectors.renumber(to)
	if p.grams != nil {
		p.grams.renumber(to)
	}
}

// hidden returns, by row, whether the filter excludes it. It looks each value of the filter up once in the
// pool or in the row, so that its cost does not depend on the number of values of a row.
func (p *pool) hidden(ctx context.Context, f Filter) ([]bool, error) {
	if f.empty() {
		return p.dead, nil
	}
	choices := f.choices()
	s := scan{satisfied: make([]uint32, len(p.dead))}
	for i, c := range choices {
		var err error
		if c.attribute == nil {
			err = s.several(ctx, p.several[c.field], c.values, uint32(i))
		} else {
			err = s.single(ctx, p.attributes, c, uint32(i))
		}
		if err != nil {
			return nil, err
		}
	}
	hidden := make([]bool, len(p.dead))
	for row, dead := range p.dead {
		if err := s.step(ctx); err != nil {
			return nil, err
		}
		hidden[row] = dead || s.satisfied[row] < uint32(len(choices)) || f.Public && !p.attributes[row].public
	}
	return hidden, nil
}

// results are the matches of a query.
type results struct {
	parts []part
	exact bool // the query is the id of a document
}

// search returns the matches of each part among the documents of the filter. A nil pool has no
// matches. A part without a vector is matched by words, and a part without words by its vector. Both
// take about the same time, so they run concurrently.
func (p *pool) search(ctx context.Context, q question, f Filter) (results, error) {
	if p == nil || len(p.rows) == 0 {
		return results{}, nil
	}
	hidden, err := p.hidden(ctx, f)
	if err != nil {
		return results{}, err
	}
	parts := make([]part, len(q.texts))
	var byVector sync.WaitGroup
	byVector.Go(func() {
		for i := range parts {
			if ctx.Err() == nil {
				parts[i].vector = p.searchVector(p.vectors, q.vectors[i], hidden)
			}
		}
	})
	for i, text := range q.texts {
		if ctx.Err() != nil {
			break
		}
		parts[i].text, parts[i].coverage = p.searchText(embed.Words(text), hidden)
		parts[i].static = q.space.Static
		if p.grams != nil && text != "" && q.vectors[i] != nil {
			parts[i].grams = p.searchVector(p.grams, embed.Hashed(text), hidden)
		}
	}
	byVector.Wait()
	row, exact := p.rows[q.id]
	return results{parts, exact && !hidden[row]}, ctx.Err()
}

// searchVector scores the rows that are not hidden by cosine similarity.
func (p *pool) searchVector(among vectors, vector []float32, hidden []bool) []match {
	cosines := floatPool.get(len(p.ids))
	defer floatPool.put(cosines)
	among.cosines(vector, *cosines)
	return p.best(*cosines, hidden)
}

// best returns the highest scoring rows that are not hidden, best first, without zero scores. A heap
// keeps the best so far, so that few of many rows are sorted.
func (p *pool) best(scores []float64, hidden []bool) []match {
	top := lowest{scores: scores, ids: p.ids}
	least := math.SmallestNonzeroFloat64
	for row, score := range scores {
		if score < least || hidden[row] {
			continue
		}
		if len(top.rows) < depth {
			top.rows = append(top.rows, uint32(row))
			if len(top.rows) == depth {
				heap.Init(&top)
				least = scores[top.rows[0]]
			}
		} else if top.worse(top.rows[0], uint32(row)) {
			top.rows[0] = uint32(row)
			heap.Fix(&top, 0)
			least = scores[top.rows[0]]
		}
	}
	matches := make([]match, len(top.rows))
	for i, row := range top.rows {
		matches[i] = match{p.ids[row], scores[row]}
	}
	return first(matches)
}

// searchText scores the rows that are not hidden by BM25 over title, body and instructions. coverage is the
// largest share of the query's distinct words found in one row.
func (p *pool) searchText(words []string, hidden []bool) (matches []match, coverage float64) {
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

// lowest is a heap of rows, the one with the lowest score first.
type lowest struct {
	rows   []uint32
	scores []float64
	ids    []string
}

func (l *lowest) Len() int           { return len(l.rows) }
func (l *lowest) Less(i, j int) bool { return l.worse(l.rows[i], l.rows[j]) }
func (l *lowest) Swap(i, j int)      { l.rows[i], l.rows[j] = l.rows[j], l.rows[i] }

// Push and Pop complete heap.Interface; the heap keeps its size.
func (l *lowest) Push(any) {}
func (l *lowest) Pop() any { return nil }

// worse reports whether row a ranks below row b.
func (l *lowest) worse(a, b uint32) bool {
	if l.scores[a] != l.scores[b] {
		return l.scores[a] < l.scores[b]
	}
	return l.ids[a] > l.ids[b]
}

func first(matches []match) []match {
	slices.SortFunc(matches, func(a, b match) int { return byScore(a.score, b.score, a.id, b.id) })
	return matches[:min(depth, len(matches))]
}
