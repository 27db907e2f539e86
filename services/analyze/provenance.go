package analyze

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/markdown"
)

// maxDifferences is the largest number of values in a result that is searched for
// differences: among many values, some pair always matches.
const maxDifferences = 100

// occurrence is a number in a tool result.
type occurrence struct {
	value   float64
	call    string
	pointer string
	metric  string // pointer to the metric's groups and total
	total   bool
	text    bool // in a string, such as the name of a group
}

func newOccurrence(call, pointer string) occurrence {
	p := occurrence{call: call, pointer: pointer}
	metric, _, ofGroup := strings.Cut(pointer, "/groups/")
	switch {
	case pointer == "/matched" || pointer == "/records": // a share of the records
		metric, p.total = "/records", true
	case !ofGroup:
		metric, p.total = strings.CutSuffix(pointer, "/total")
	}
	p.metric = metric
	return p
}

// occurrenceIndex indexes the occurrences in all results.
type occurrenceIndex struct {
	list    []occurrence
	byValue []int                   // indexes of list, by value
	numbers []occurrence            // without those in strings
	calls   map[string]int          // number of occurrences by call
	metrics map[string][]occurrence // by call and metric
	totals  map[string][]occurrence // totals by metric, of all calls
	peers   map[string][]occurrence // occurrences of one group, or totals, by call
}

func index(occurrences []occurrence) occurrenceIndex {
	x := occurrenceIndex{list: occurrences, calls: map[string]int{}, metrics: map[string][]occurrence{},
		totals: map[string][]occurrence{},
		peers:  map[string][]occurrence{}}
	for i := range occurrences {
		x.byValue = append(x.byValue, i)
	}
	slices.SortFunc(x.byValue, func(i, j int) int { return cmp.Compare(occurrences[i].value, occurrences[j].value) })
	for _, p := range occurrences {
		if p.text {
			continue
		}
		x.numbers = append(x.numbers, p)
		x.calls[p.call]++
		x.metrics[p.metricKey()] = append(x.metrics[p.metricKey()], p)
		x.peers[p.groupKey()] = append(x.peers[p.groupKey()], p)
		if p.total {
			x.totals[p.metric] = append(x.totals[p.metric], p)
		}
	}
	return x
}

// first returns the first occurrence that the figure matches.
func (x occurrenceIndex) first(f figure) (p occurrence, ok bool) {
	first := len(x.list)
	for _, r := range f.readings {
		radius := max(r.slack, r.about) + 1e-9*math.Abs(r.value) // with the error of the subtraction
		start, _ := slices.BinarySearchFunc(x.byValue, r.value-radius, func(i int, v float64) int {
			return cmp.Compare(x.list[i].value, v)
		})
		for _, i := range x.byValue[start:] {
			if x.list[i].value > r.value+radius {
				break
			}
			if i < first && f.matches(x.list[i].value) {
				first = i
			}
		}
	}
	if first == len(x.list) {
		return p, false
	}
	return x.list[first], true
}

// metricKey returns the key of the call and metric.
func (p occurrence) metricKey() string { return p.call + " " + p.metric }

// groupKey returns the key of the call and the group, or of its totals.
func (p occurrence) groupKey() string { return p.call + " " + strings.TrimPrefix(p.pointer, p.metric) }

// areSums reports whether both are sums, of different fields.
func (p occurrence) areSums(o occurrence) bool {
	const sum = "/metrics/sum:"
	return p.metric != o.metric && strings.HasPrefix(p.metric, sum) && strings.HasPrefix(o.metric, sum)
}

// A tracer finds the sources of figures: a value of a result, exact or rounded; the question or the calls; or two
// values of one result. Failed calls support nothing: the model may have invented their arguments. It is not safe
// for concurrent use.
type tracer struct {
	occurrences occurrenceIndex
	inputs      []figure
	traced      map[string]schemas.Figure
}

func newTracer(question string, results []result) *tracer {
	var occurrences, samples []occurrence
	t := &tracer{inputs: figuresOf(question), traced: map[string]schemas.Figure{}}
	for _, r := range results {
		if r.failed() {
			continue
		}
		t.inputs = append(t.inputs, figuresOf(string(r.call.Input))...)
		if r.call.Name == inspectSchema {
			samples = append(samples, occurrencesOf(r)...)
		} else {
			occurrences = append(occurrences, occurrencesOf(r)...)
		}
	}
	t.occurrences = index(append(occurrences, samples...)) // computed values take precedence over samples
	return t
}

// figures returns the figures of a text with their sources.
func (t *tracer) figures(ctx context.Context, text string) []schemas.Figure {
	figures := []schemas.Figure{}
	for _, f := range figuresOf(markdown.Plain(text)) {
		if ctx.Err() != nil {
			break
		}
		source, again := t.traced[f.String()]
		if !again {
			source = trace(f, t.occurrences, t.inputs)
			t.traced[f.String()] = source
		}
		figures = append(figures, source)
	}
	return figures
}

// unsupported returns the first figure of a text that has no source; empty if all have one.
func (t *tracer) unsupported(ctx context.Context, text string) string {
	for _, f := range t.figures(ctx, text) {
		if f.Flagged {
			return f.Text
		}
	}
	return ""
}

// trace returns the source of one figure.
func trace(f figure, occurrences occurrenceIndex, inputs []figure) schemas.Figure {
	traced := schemas.Figure{Text: f.String()}
	switch value, ok := occurrences.first(f); {
	case ok:
		traced.From, traced.Sources = schemas.FromValue, sources(value)
	case slices.ContainsFunc(inputs, f.equals):
		traced.From = schemas.FromQuestion
	case f.percent:
		traced.From, traced.Sources = schemas.FromShare, f.share(occurrences)
	default:
		if traced.From, traced.Sources = schemas.FromDifference, f.difference(occurrences); traced.Sources == nil {
			traced.From, traced.Sources = schemas.FromShare, f.ratio(occurrences)
		}
	}
	if traced.Sources == nil && traced.From != schemas.FromQuestion {
		traced.From, traced.Flagged = schemas.FromNowhere, true
	}
	return traced
}

func sources(occurrences ...occurrence) []schemas.Source {
	var list []schemas.Source
	for _, p := range occurrences {
		list = append(list, schemas.Source{ToolCallID: p.call, Pointer: p.pointer})
	}
	return list
}

// occurrencesOf returns the numbers of a result, including those in its strings.
func occurrencesOf(r result) []occurrence {
	var occurrences []occurrence
	values := jsontext.NewDecoder(bytes.NewReader(r.answer))
	for {
		token, err := values.ReadToken()
		if err != nil { // the end
			return occurrences
		}
		place := newOccurrence(r.call.ID, string(values.StackPointer()))
		switch token.Kind() {
		case jsontext.KindNumber:
			if place.value, err = token.Float(); err == nil {
				occurrences = append(occurrences, place)
			}
		case jsontext.KindString:
			place.text = true
			for _, f := range figuresOf(token.String()) {
				for _, r := range f.readings {
					place.value = r.value
					occurrences = append(occurrences, place)
				}
			}
		}
	}
}
