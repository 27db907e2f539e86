package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// evaluation is the result of eval.
type evaluation struct {
	Corpus   int               `json:"corpus"` // number of skills
	Queries  int               `json:"queries"`
	Tenant   string            `json:"tenant,omitzero"`
	Backends map[string]string `json:"backends,omitempty"`
	AtOnce   int               `json:"at_once"`
	First    coldLatencies     `json:"first"`
	Text     measured          `json:"text"`
	Vector   measured          `json:"vector"`
	Hybrid   measured          `json:"hybrid"`
	Seconds  float64           `json:"seconds"`
	// Difference has the changes of the metrics since the result of --compare, by method.
	Difference map[string]figures `json:"difference,omitempty"`
}

// coldLatencies describes the first hybrid search for each query. Its latencies include
// embedding the query.
type coldLatencies struct {
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	Short int     `json:"short"`
}

// measured contains the results of one search method for queries that are already
// embedded. Latencies are measured for first responses that are complete; 0 without any.
type measured struct {
	All      figures `json:"all"`
	One      figures `json:"one_skill"`      // queries with one relevant skill
	Several  figures `json:"several_skills"` // queries with several
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`
	Missing  int     `json:"not_found"` // queries answered with 404
	Short    int     `json:"short"`     // degraded or unavailable at the first attempt
	Degraded int     `json:"degraded"`  // degraded at the last attempt
	Lacking  string  `json:"degraded_as,omitzero"`
	Failed   int     `json:"failed"` // failed queries count as queries without results
	Failure  string  `json:"failure,omitzero"`
}

func newMeasured(queries []judged, verdicts []verdict) measured {
	var m measured
	var latency []time.Duration
	var all, single, several []metrics
	for i, q := range queries {
		v := verdicts[i]
		result := newMetrics(q.gold, v.ids)
		all = append(all, result)
		if len(q.gold) > 1 {
			several = append(several, result)
		} else {
			single = append(single, result)
		}
		if v.retried || v.short() {
			m.Short++
		} else {
			latency = append(latency, v.latency)
		}
		m.count(v)
	}
	m.All, m.One, m.Several = newFigures(all), newFigures(single), newFigures(several)
	slices.Sort(latency)
	m.P50, m.P95 = percentile(latency, 0.50), percentile(latency, 0.95)
	return m
}

func (m *measured) count(v verdict) {
	switch {
	case v.err != nil:
		m.Failed++
		m.Failure = cmp.Or(m.Failure, output.OneLine(v.err))
	case v.missing:
		m.Missing++
	case v.degraded != "":
		m.Degraded++
		m.Lacking = cmp.Or(m.Lacking, v.degraded)
	}
}

// row is one row of the printed results.
type row struct {
	name string
	measured
}

func (r evaluation) rows() []row {
	return []row{{"text", r.Text}, {"vector", r.Vector}, {"hybrid", r.Hybrid}}
}

// differences returns the changes of the metrics from r to now, by method.
func (r evaluation) differences(now evaluation) map[string]figures {
	changes := map[string]figures{}
	later := now.rows()
	for i, row := range r.rows() {
		changes[row.name] = row.All.difference(later[i].All)
	}
	return changes
}

// write adds r as text.
func (r evaluation) write(t *output.Table) {
	scope := ""
	if r.Tenant != "" {
		scope = " of tenant " + r.Tenant
	}
	t.Row(fmt.Sprintf("%d queries for %d skills%s in %.1f s", r.Queries, r.Corpus, scope, r.Seconds))
	if backends := output.Pairs(r.Backends); len(backends) > 0 {
		t.Row(strings.Join(backends, ", "))
	}
	t.Row()
	t.Row("", "recall@1", "recall@5", "nDCG@10", "all@5", "p50 ms", "p95 ms", "not found", "degraded", "failed")
	for _, row := range r.rows() {
		t.Row(append(row.All.cells(row.name, "%.4f"), milliseconds(row.P50), milliseconds(row.P95),
			fmt.Sprint(row.Missing), fmt.Sprint(row.Degraded), fmt.Sprint(row.Failed))...)
		t.Row(append(row.All.Margin.cells("  ±", "%.4f"), "", "", "", "", "")...) // all columns, so that they stay aligned
	}
	if h := r.Hybrid; h.One.Queries > 0 && h.Several.Queries > 0 {
		t.Row(h.One.cells(fmt.Sprintf("  %d with one skill", h.One.Queries), "%.4f")...)
		t.Row(h.Several.cells(fmt.Sprintf("  %d with several", h.Several.Queries), "%.4f")...)
	}
	if r.Difference != nil {
		t.Row()
		t.Row("difference")
		for _, row := range r.rows() {
			d := r.Difference[row.name]
			t.Row(d.cells(row.name, "%+.4f")...)
			t.Row(d.Margin.cells("  ±", "%.4f")...)
		}
	}
	t.Row()
	t.Row("± is half the width of the 95 % confidence interval.")
	t.Row(fmt.Sprintf("p50 and p95 are HTTP latencies with %d queries in flight and cached embeddings.", r.AtOnce))
	if r.First.P50 > 0 {
		t.Row(fmt.Sprintf("First hybrid search, including embedding: p50 %.1f ms, p95 %.1f ms.", r.First.P50, r.First.P95))
	}
	if r.First.Short > 0 {
		t.Row(fmt.Sprintf("First hybrid search: %d answers were degraded or unavailable and are excluded from the latencies.",
			r.First.Short))
	}
	r.explain(t)
}

func milliseconds(n float64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", n)
}

// explain adds the causes of degraded and failed responses, and their remedies.
func (r evaluation) explain(t *output.Table) {
	for _, row := range r.rows() {
		switch {
		case row.Degraded == 0:
		case row.Lacking == schemas.TextOnly:
			t.Row()
			t.Row(fmt.Sprintf("%d of %d answers of %s search are text-only because the embedding model did not respond in time, so this row",
				row.Degraded, r.Queries, row.name))
			t.Row("does not measure the model. Reduce --at-once, or increase query_timeout in the --embed URL.")
			t.Row(`"cairn status" shows whether the model is available.`)
		default:
			t.Row()
			t.Row(fmt.Sprintf(`%d of %d answers of %s search are degraded (%s): see "cairn status".`, row.Degraded, r.Queries,
				row.name, row.Lacking))
		}
	}
}
