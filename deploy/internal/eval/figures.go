package eval

import (
	"fmt"
	"math"
	"time"
)

// figures are means over queries, each in [0,1].
type figures struct {
	Queries int     `json:"queries"`
	Recall1 float64 `json:"recall@1"` // share of the relevant skills at rank 1
	Recall5 float64 `json:"recall@5"`
	NDCG10  float64 `json:"ndcg@10"` // with binary relevance
	All5    float64 `json:"all@5"`   // 1 if all relevant skills are in the top 5
}

// add adds the figures of one query to the sums.
func (f *figures) add(gold map[string]bool, ids []string) {
	f.Queries++
	f.Recall1 += recall(gold, ids, 1)
	f.Recall5 += recall(gold, ids, 5)
	f.NDCG10 += ndcg(gold, ids, 10)
	if recall(gold, ids, 5) == 1 {
		f.All5++
	}
}

func (f *figures) divide() {
	n := float64(max(1, f.Queries))
	f.Recall1, f.Recall5, f.NDCG10, f.All5 = f.Recall1/n, f.Recall5/n, f.NDCG10/n, f.All5/n
}

// cells returns a row of a table: the name and the figures.
func (f figures) cells(name string) []string {
	cells := []string{name}
	for _, figure := range []float64{f.Recall1, f.Recall5, f.NDCG10, f.All5} {
		cells = append(cells, fmt.Sprintf("%.4f", figure))
	}
	return cells
}

// recall returns the share of the relevant skills in the top k.
func recall(gold map[string]bool, ids []string, k int) float64 {
	found := 0
	for _, id := range ids[:min(k, len(ids))] {
		if gold[id] {
			found++
		}
	}
	return float64(found) / float64(len(gold))
}

// ndcg returns the normalized discounted cumulative gain of the top k.
func ndcg(gold map[string]bool, ids []string, k int) float64 {
	var gain, most float64
	for i := range k {
		place := 1 / math.Log2(float64(i+2))
		if i < len(ids) && gold[ids[i]] {
			gain += place
		}
		if i < len(gold) {
			most += place
		}
	}
	return gain / most
}

// percentile returns a percentile in milliseconds.
func percentile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(share*float64(len(sorted)))) - 1
	return float64(sorted[max(0, at)]) / float64(time.Millisecond)
}
