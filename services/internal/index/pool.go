package index

import (
	"slices"

	"cairn/services/internal/embed"
)

// pool holds the documents of one kind and tenant. A row is a document's place
// in it; a document replaced or removed leaves a dead row until the next sweep.
type pool struct {
	revisions map[string]uint64 // of removed documents too
	rows      map[string]uint32 // of the live documents
	ids       []string          // by row
	dead      []bool            // by row
	title     field
	body      field
	vectors   vectors
}

// content is what a pool keeps of a document.
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

// settle makes changes ready to be searched. Dead rows are swept when they are
// many enough to spread the cost over as many changes.
func (p *pool) settle() {
	if dead := len(p.ids) - len(p.rows); dead*sweepShare > len(p.ids) {
		p.sweep()
	}
	p.vectors.settle()
}

// sweepShare is the share of dead rows, one of so many, that is worth a sweep.
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

// search looks for the parts of a query. A nil pool has nothing; a part
// without a vector is looked for by its words, one without words by its vector.
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

// searchVector ranks the live rows by the cosine to vector.
func (p *pool) searchVector(vector []float32) []match {
	cosines := lentFloats.lend(len(p.ids))
	defer lentFloats.giveBack(cosines)
	p.vectors.cosines(vector, *cosines)
	return p.best(*cosines)
}

// best returns the live rows that score highest, best first, and none that
// scores nothing.
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
