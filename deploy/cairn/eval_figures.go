package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// figures are means over queries, each in [0,1].
type figures struct {
	Queries int     `json:"queries"`
	Recall1 float64 `json:"recall@1"` // share of the query's skills in the first place
	Recall5 float64 `json:"recall@5"`
	NDCG10  float64 `json:"ndcg@10"` // with the same gain for each of the query's skills
	All5    float64 `json:"all@5"`   // 1 when all of the query's skills are among the first 5
}

// evaluation is what eval has measured.
type evaluation struct {
	Corpus   int               `json:"corpus"` // skills in it
	Tenant   string            `json:"tenant,omitzero"`
	Backends map[string]string `json:"backends,omitempty"`
	All      figures           `json:"all"`
	One      figures           `json:"one_skill"`      // queries for one skill
	Several  figures           `json:"several_skills"` // and for more
	P50      float64           `json:"p50_ms"`
	P95      float64           `json:"p95_ms"`
	AtOnce   int               `json:"at_once"`
	Missing  int               `json:"not_found"` // queries answered with 404
	Degraded int               `json:"degraded"`  // answered with less than Cairn can do
	Failed   int               `json:"failed"`    // not answered; they count as nothing found
	Failure  string            `json:"failure,omitzero"`
	Seconds  float64           `json:"seconds"`
}

func newEvaluation(queries []judged, verdicts []verdict) evaluation {
	var r evaluation
	var took []time.Duration
	for i, q := range queries {
		v := verdicts[i]
		size := &r.One
		if len(q.gold) > 1 {
			size = &r.Several
		}
		r.All.add(q.gold, v.ids)
		size.add(q.gold, v.ids)
		took = append(took, v.took)
		r.count(v)
	}
	for _, f := range []*figures{&r.All, &r.One, &r.Several} {
		f.divide()
	}
	slices.Sort(took)
	r.P50, r.P95 = percentile(took, 0.50), percentile(took, 0.95)
	return r
}

func (r *evaluation) count(v verdict) {
	switch {
	case v.err != nil:
		r.Failed++
		r.Failure = cmp.Or(r.Failure, oneLine(v.err))
	case v.missing:
		r.Missing++
	case v.degraded:
		r.Degraded++
	}
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

// recall is the share of gold among the first k.
func recall(gold map[string]bool, ids []string, k int) float64 {
	found := 0
	for _, id := range ids[:min(k, len(ids))] {
		if gold[id] {
			found++
		}
	}
	return float64(found) / float64(len(gold))
}

// ndcg is the gain of the first k, as a share of the most that is possible.
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

// percentile is in milliseconds.
func percentile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(share*float64(len(sorted)))) - 1
	return float64(sorted[max(0, at)]) / float64(time.Millisecond)
}

// print writes r for people.
func (r evaluation) print(out io.Writer) error {
	t := newTable(out)
	var with []string
	for _, name := range slices.Sorted(maps.Keys(r.Backends)) {
		with = append(with, name+" "+r.Backends[name])
	}
	t.row(fmt.Sprintf("%d queries for %d skills%s in %.1f s", r.All.Queries, r.Corpus, suffixed(" of tenant ", r.Tenant), r.Seconds))
	if len(with) > 0 {
		t.row(strings.Join(with, ", "))
	}
	t.row()
	t.row("", "queries", "recall@1", "recall@5", "nDCG@10", "all@5")
	r.All.row(t, "all")
	if r.One.Queries > 0 && r.Several.Queries > 0 {
		r.One.row(t, "for one skill")
		r.Several.row(t, "for several")
	}
	t.row()
	t.row(fmt.Sprintf("p50 %.1f ms, p95 %.1f ms with %d at once", r.P50, r.P95, r.AtOnce))
	t.row(fmt.Sprintf("not found %d, degraded %d, failed %d", r.Missing, r.Degraded, r.Failed))
	return t.write()
}

func (f figures) row(t *table, name string) {
	t.row(name, fmt.Sprint(f.Queries), fmt.Sprintf("%.4f", f.Recall1), fmt.Sprintf("%.4f", f.Recall5),
		fmt.Sprintf("%.4f", f.NDCG10), fmt.Sprintf("%.4f", f.All5))
}

// suffixed is what follows the prefix, with it; nothing of nothing.
func suffixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
