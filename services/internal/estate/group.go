package estate

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
)

// maxLabelBytes is the length at which group labels are truncated.
const maxLabelBytes = 4 << 10

// A grouping assigns records to groups. Its zero value has no groups.
type grouping struct {
	rows     []uint32   // the record of each entry; a record is repeated for the elements of a list
	groups   []uint32   // the group of each entry
	counts   []uint32   // number of entries by group
	keys     [][]string // labels by field
	tuples   [][]uint32 // by group, the label of each field; nil for one field, whose labels are the groups
	nonEmpty int        // number of groups with entries
	nonNull  int        // the same without the group of records without a value
	null     bool       // the first group has only records without a value
	empty    uint32     // number of entries without a value in the last field
}

// labels maps each code of a column to a group, a code of a list to the groups of its elements, and each group to its
// label.
type labels struct {
	group    []uint32
	elements map[uint32][]uint32
	keys     []string
	bound    int // exceeds all groups
}

// groups returns the groups of a code.
func (l *labels) groups(code uint32) []uint32 {
	if l.elements != nil && len(l.elements[code]) > 0 {
		return l.elements[code]
	}
	return l.group[code : code+1]
}

// isEmpty reports whether a code stands for no value, or a list without elements.
func (l *labels) isEmpty(code uint32) bool {
	if code < codeValues || l.elements == nil {
		return code < codeValues
	}
	elements, isList := l.elements[code]
	return isList && len(elements) == 0
}

// count returns the number of groups of all rows.
func (l *labels) count(codes, rows []uint32) int {
	n := len(rows)
	if l.elements == nil {
		return n
	}
	for _, row := range rows {
		n += len(l.groups(codes[row])) - 1
	}
	return n
}

// tupleSize is the size of a group by several fields, in bytes.
const tupleSize = 120

// combine returns the group of a label among the records of a group of outer.
func (p *grouping) combine(combinations map[[2]uint32]uint32, outer grouping, group, label uint32) uint32 {
	pair := [2]uint32{group, label}
	g, ok := combinations[pair]
	if !ok {
		g = uint32(len(p.tuples))
		combinations[pair] = g
		p.tuples = append(p.tuples, append(slices.Clone(outer.tuple(group)), label))
	}
	return g
}

// assign assigns each row the group of its code.
func (p *grouping) assign(codes []uint32, l *labels) {
	p.groups, p.counts = p.groups[:len(p.rows)], make([]uint32, len(l.keys))
	for i, row := range p.rows {
		code := codes[row]
		g := l.group[code]
		p.groups[i] = g
		p.counts[g]++
		if code < codeValues {
			p.empty++
		}
	}
	p.countGroups()
}

// count counts the entries of the groups.
func (p *grouping) count() {
	groups := len(p.tuples)
	if p.tuples == nil {
		groups = len(p.keys[0])
	}
	p.counts = make([]uint32, groups)
	for _, g := range p.groups {
		p.counts[g]++
	}
	p.countGroups()
}

// countGroups counts the groups with entries.
func (p *grouping) countGroups() {
	for _, many := range p.counts {
		if many > 0 {
			p.nonEmpty++
		}
	}
	p.nonNull = p.nonEmpty
}

// countFigures returns the numbers of entries of the groups as figures.
func (p *grouping) countFigures() []float64 {
	figures := make([]float64, len(p.counts))
	for g, entries := range p.counts {
		figures[g] = float64(entries)
	}
	return figures
}

// tuple returns the label of each field.
func (p grouping) tuple(g uint32) []uint32 {
	if p.tuples == nil {
		return []uint32{g}
	}
	return p.tuples[g]
}

// labels returns the label of each field of a group.
func (p grouping) labels(g uint32) []string {
	out := make([]string, len(p.keys))
	for field, label := range p.tuple(g) {
		out[field] = p.keys[field][label]
	}
	return out
}

// drop removes a group.
func (p *grouping) drop(g int) {
	p.counts[g] = 0
	p.nonEmpty--
	if p.null && g == 0 {
		p.null = false
	} else {
		p.nonNull--
	}
}

// ranked returns the entries of the ranked groups: their rows, and their ranks as groups. Without groups, it
// returns all rows.
func (p grouping) ranked(ranked []uint32) (rows, groups []uint32) {
	if p.groups == nil {
		return p.rows, nil
	}
	number := make([]uint32, len(p.counts)) // 1 + the rank; 0: not ranked
	entries := 0
	for k, g := range ranked {
		number[g] = uint32(k) + 1
		entries += int(p.counts[g])
	}
	groups = make([]uint32, 0, entries)
	if entries == len(p.groups) { // all groups are ranked
		for _, g := range p.groups {
			groups = append(groups, number[g]-1)
		}
		return p.rows, groups
	}
	rows = make([]uint32, 0, entries)
	for i, g := range p.groups {
		if number[g] > 0 {
			rows, groups = append(rows, p.rows[i]), append(groups, number[g]-1)
		}
	}
	return rows, groups
}

// over returns figures over the groups' values, without the group of records without a value.
func (p *grouping) over(ctx context.Context, ops []string, figures []float64) map[string]Number {
	var values []float64
	for g, figure := range figures {
		if p.counts[g] > 0 && figure == figure && (g > 0 || !p.null) {
			values = append(values, figure)
		}
	}
	out := map[string]Number{}
	for _, op := range ops {
		if op == "count" {
			out[op] = Number(p.nonNull)
			continue
		}
		m := metric{op: op}
		out[op] = Number(m.reduce(ctx, values, nil, 1)[0])
	}
	return out
}

// rank returns the first limit groups with records, by descending figure and then by label;
// NaN sorts last. The result is incomplete if ctx is done.
func (p grouping) rank(ctx context.Context, figures []float64, limit int) []uint32 {
	compare := func(g, h uint32) int {
		x, y := figures[g], figures[h]
		if x == y || x != x && y != y {
			if p.tuples == nil {
				return cmp.Compare(p.keys[0][g], p.keys[0][h])
			}
			return slices.Compare(p.labels(g), p.labels(h))
		}
		if x > y || y != y {
			return -1
		}
		return 1
	}
	best := ranking{limit: limit, compare: compare}
	for g, many := range p.counts {
		if g%checkRows == 0 && ctx.Err() != nil {
			break
		}
		if many > 0 {
			best.offer(uint32(g))
		}
	}
	return best.list
}

// A ranking has the first limit items, at least one, in the order of compare.
type ranking struct {
	limit   int
	compare func(g, h uint32) int // negative when g is better
	list    []uint32
}

// offer inserts g unless limit items precede it.
func (r *ranking) offer(g uint32) {
	if len(r.list) == r.limit && r.compare(g, r.list[r.limit-1]) > 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(r.list, g, r.compare)
	r.list = slices.Insert(r.list[:min(len(r.list), r.limit-1)], i, g)
}

// groupKey returns the label; a very long one is truncated, with a checksum to keep
// groups distinct.
func groupKey(label string) string {
	if len(label) <= maxLabelBytes {
		return label
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(label)) // never fails
	return fmt.Sprintf("%s (%d bytes, %x)", truncate([]byte(label), maxLabelBytes), len(label), h.Sum64())
}
