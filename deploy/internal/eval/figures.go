package eval

import (
	"fmt"
	"math"
	"time"
)

// figures are means over queries, each in [0,1], with their confidence intervals.
type figures struct {
	Queries int `json:"queries"`
	metrics
	Margin metrics `json:"margin"` // half the width of the 95 % confidence interval
}

// metrics measure the results of a query, or of several.
type metrics struct {
	Recall1 float64 `json:"recall@1"` // share of the relevant skills at rank 1
	Recall5 float64 `json:"recall@5"`
	NDCG10  float64 `json:"ndcg@10"` // with binary relevance
	All5    float64 `json:"all@5"`   // 1 if all relevant skills are in the top 5
}

// metricNames are the names of the metrics in JSON, in the order of each.
var metricNames = []string{"recall@1", "recall@5", "ndcg@10", "all@5"}

func (m *metrics) each() []*float64 { return []*float64{&m.Recall1, &m.Recall5, &m.NDCG10, &m.All5} }

func newMetrics(gold map[string]bool, ids []string) metrics {
	m := metrics{Recall1: recall(gold, ids, 1), Recall5: recall(gold, ids, 5), NDCG10: ndcg(gold, ids, 10)}
	if m.Recall5 == 1 {
		m.All5 = 1
	}
	return m
}

// deviations is the half width of a 95 % confidence interval in standard errors of a mean.
const deviations = 1.96

// newFigures returns the figures of queries. The confidence intervals assume normally
// distributed means, which holds for some hundreds of queries.
func newFigures(queries []metrics) figures {
	f := figures{Queries: len(queries)}
	n := float64(max(1, len(queries)))
	for i, mean := range f.each() {
		for _, q := range queries {
			*mean += *q.each()[i] / n
		}
		var squares float64
		for _, q := range queries {
			squares += math.Pow(*q.each()[i]-*mean, 2)
		}
		*f.Margin.each()[i] = deviations * math.Sqrt(squares/max(1, n-1)/n)
	}
	return f
}

// difference returns the change from f to now. Its confidence interval treats both as
// independent samples, so it is too wide rather than too narrow for the same queries.
func (f figures) difference(now figures) figures {
	d := figures{Queries: now.Queries}
	change, margin := d.each(), d.Margin.each()
	before, beforeMargin := f.each(), f.Margin.each()
	nowMargin := now.Margin.each()
	for i, later := range now.each() {
		*change[i] = *later - *before[i]
		*margin[i] = math.Hypot(*beforeMargin[i], *nowMargin[i])
	}
	return d
}

// cells returns a row of a table: the name and the metrics.
func (m metrics) cells(name, format string) []string {
	cells := []string{name}
	for _, metric := range m.each() {
		cells = append(cells, fmt.Sprintf(format, *metric))
	}
	return cells
}

// recall returns the share of the relevant skills in the top k.
func recall(gold map[string]bool, ids []string, k int) float64 {
	hits := 0
	for _, id := range ids[:min(k, len(ids))] {
		if gold[id] {
			hits++
		}
	}
	return float64(hits) / float64(len(gold))
}

// ndcg returns the normalized discounted cumulative gain of the top k.
func ndcg(gold map[string]bool, ids []string, k int) float64 {
	var gain, ideal float64
	for i := range k {
		place := 1 / math.Log2(float64(i+2))
		if i < len(ids) && gold[ids[i]] {
			gain += place
		}
		if i < len(gold) {
			ideal += place
		}
	}
	return gain / ideal
}

// percentile returns a percentile in milliseconds.
func percentile(sorted []time.Duration, share float64) float64 {
	return float64(quantile(sorted, share)) / float64(time.Millisecond)
}

// quantile returns the value at the nearest rank of a share, or 0 without values.
func quantile[N ~int | ~int64 | ~float64](sorted []N, share float64) N {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}
