package estate

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
)

// maxLabelBytes is the length at which group labels are truncated.
const maxLabelBytes = 4 << 10

// A grouping assigns records to groups. Its zero value has no groups. The first group contains the
// records without a value.
type grouping struct {
	of       []uint32 // the group of each record
	keys     []string // labels of all groups, including empty ones
	counts   []uint32 // number of records by group
	nonEmpty int      // number of groups with records
	labels   int      // number of labels of values; null and missing have none
	found    bool     // a record has the field, possibly null
}

// labels maps each code of a column to a group, and each group to its label.
type labels struct {
	of   []uint32
	keys []string
}

// group groups rows by the label of their value in a column. The error is ctx.Err().
func group(ctx context.Context, rows []uint32, col *column, n int) (grouping, error) {
	labels, err := col.groups.Get(ctx)
	if err != nil {
		return grouping{}, err
	}
	groups, keys := labels.of, labels.keys
	by := grouping{of: make([]uint32, len(rows)), keys: keys, counts: make([]uint32, len(keys))}
	codes := col.dense(n)
	empty := uint32(0) // records without a value
	for i, row := range rows {
		code := codes[row]
		g := groups[code]
		by.of[i] = g
		by.counts[g]++
		if code < codeValues {
			empty++
			by.found = by.found || code == codeNull
		}
	}
	for _, many := range by.counts {
		if many > 0 {
			by.nonEmpty++
		}
	}
	by.labels = by.nonEmpty
	if empty > 0 && by.counts[0] == empty { // the string "null" is a label too
		by.labels--
	}
	by.found = by.found || int(empty) < len(rows)
	return by, nil
}

// rank returns the first limit groups with records, by descending figure and then by key;
// NaN sorts last. The result is incomplete if ctx is done.
func (by grouping) rank(ctx context.Context, figures []float64, limit int) []uint32 {
	compare := func(g, h uint32) int {
		x, y := figures[g], figures[h]
		if x == y || x != x && y != y {
			return cmp.Compare(by.keys[g], by.keys[h])
		}
		if x > y || y != y {
			return -1
		}
		return 1
	}
	best := worstFirst{compare: compare}
	for g, many := range by.counts {
		if g%checkRows == 0 && yield(ctx, g) != nil {
			break
		}
		if many > 0 {
			best.offer(uint32(g), limit)
		}
	}
	slices.SortFunc(best.list, compare)
	return best.list
}

// worstFirst is a heap of the best groups so far, with the worst at the root.
type worstFirst struct {
	list    []uint32
	compare func(g, h uint32) int // negative when g is better
}

func (w *worstFirst) Len() int           { return len(w.list) }
func (w *worstFirst) Less(i, j int) bool { return w.compare(w.list[i], w.list[j]) > 0 }
func (w *worstFirst) Swap(i, j int)      { w.list[i], w.list[j] = w.list[j], w.list[i] }
func (w *worstFirst) Push(g any)         { w.list = append(w.list, g.(uint32)) }

// Pop is never called: the groups are sorted at the end.
func (w *worstFirst) Pop() any { panic("Pop is not supported") }

// offer adds g if there are fewer than limit groups, or replaces a worse one.
func (w *worstFirst) offer(g uint32, limit int) {
	switch {
	case len(w.list) < limit:
		heap.Push(w, g)
	case limit > 0 && w.compare(g, w.list[0]) < 0:
		w.list[0] = g
		heap.Fix(w, 0)
	}
}

// groupKey returns the label; a very long one is truncated, with a checksum to keep
// groups distinct.
func groupKey(label string) string {
	if len(label) <= maxLabelBytes {
		return label
	}
	return string(truncate(bytes.Clone([]byte(label)), maxLabelBytes)) + checksum(label)
}

func checksum(text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return fmt.Sprintf(" (%d bytes, %x)", len(text), h.Sum64())
}
