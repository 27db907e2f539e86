package index

import (
	"slices"

	"cairn/services/internal/embed"
)

// pool holds the documents of one kind and tenant, one per row. A replaced or
// removed document leaves a dead row until the next sweep.
type pool struct {
	revisions map[string]uint64 // removed documents included
	rows      map[string]uint32 // of live documents
	ids       []string          // by row
	dead      []bool            // by row
	title     field
	body      field
	vectors   vectors
}

// content is the indexed content of a document.
type content struct {
	title, body []string
	vectors     [][]float32
}

func newPool(space embed.Space) *pool {
	return &pool{
		revisions: map[string]uint64{},
		rows:      map[string]uint32{},
		title:     field{words: postings[string]{}},
		body:      field{words: postings[string]{}},
		vectors:   newVectors(space),
	}
}

func (p *pool) put(id string, c content) {
	p.remove(id)
	row := uint32(len(p.ids))
	p.rows[id] = row
	p.ids = append(p.ids, id)
	p.dead = append(p.dead, false)
	p.title.add(row, c.title)
	p.body.add(row, c.body)
	for _, v := range c.vectors {
		p.vectors.add(row, v)
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
}

// settle prepares the pool for searches after changes. Dead rows are swept when
// their share is large enough to amortize the cost.
func (p *pool) settle() {
	if dead := len(p.ids) - len(p.rows); dead*sweepShare > len(p.ids) {
		p.sweep()
	}
	p.vectors.settle()
}

// sweepShare: a sweep starts at one dead row in this many.
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
	p.title.renumber(to)
	p.body.renumber(to)
	p.vectors.renumber(to)
}

// search returns the matches of each part. A nil pool has none. A part without a
// vector is matched by words, one without words by its vector.
func (p *pool) search(asked []string, vectors [][]float32) []part {
	if p == nil || len(p.rows) == 0 {
		return nil
	}
	found := make([]part, len(asked))
	for i, text := range asked {
		found[i].text, found[i].coverage = p.searchText(embed.Words(text))
		found[i].vector = p.searchVector(vectors[i])
	}
	return found
}

// searchVector scores the live rows by cosine similarity.
func (p *pool) searchVector(vector []float32) []match {
	cosines := floatPool.get(len(p.ids))
	defer floatPool.put(cosines)
	p.vectors.cosines(vector, *cosines)
	return p.best(*cosines)
}

// best returns the highest scoring live rows, best first, without zero scores.
func (p *pool) best(scores []float64) []match {
	found := make([]match, 0, min(len(scores), 4*depth))
	least := 0.0
	for row, score := range scores {
		if score <= 0 || score < least || p.dead[row] {
			continue
		}
		found = append(found, match{p.ids[row], score})
		if len(found) == 4*depth {
			found = first(found)
			least = found[depth-1].score
		}
	}
	return first(found)
}

func first(found []match) []match {
	slices.SortFunc(found, func(a, b match) int { return byScore(a.score, b.score, a.id, b.id) })
	return found[:min(depth, len(found))]
}
