package analyze

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/markdown"
)

// maxDifferences is the largest number of values in a result that is searched for
// differences: among many values some two always match.
const maxDifferences = 100

// occurrence is a number in a tool result.
type occurrence struct {
	value   float64
	call    string
	pointer string
	metric  string // pointer to the metric's groups and total
	total   bool
}

func newPlace(call, pointer string) occurrence {
	p := occurrence{call: call, pointer: pointer}
	metric, _, ofGroup := strings.Cut(pointer, "/groups/")
	if !ofGroup {
		metric, p.total = strings.CutSuffix(pointer, "/total")
	}
	p.metric = metric
	return p
}

// placeIndex indexes the places of all results.
type placeIndex struct {
	all     []occurrence
	calls   map[string]int          // number of places by call
	metrics map[string][]occurrence // by call and metric
	totals  map[string][]occurrence // totals by metric, of all calls
}

func index(places []occurrence) placeIndex {
	x := placeIndex{all: places, calls: map[string]int{}, metrics: map[string][]occurrence{}, totals: map[string][]occurrence{}}
	for _, p := range places {
		x.calls[p.call]++
		x.metrics[p.of()] = append(x.metrics[p.of()], p)
		if p.total {
			x.totals[p.metric] = append(x.totals[p.metric], p)
		}
	}
	return x
}

// of returns the key of the place's call and metric.
func (p occurrence) of() string { return p.call + " " + p.metric }

// provenance returns the source of each figure in the answer: a value of a result,
// exact or rounded; the question or the calls; or two values of one result.
func provenance(ctx context.Context, answer, question string, results []result) schemas.Provenance {
	var places, samples []occurrence
	inputs := figuresOf(question)
	for _, r := range results {
		inputs = append(inputs, figuresOf(string(r.call.Input))...)
		if r.call.Name == inspectSchema {
			samples = append(samples, placesOf(r)...)
		} else {
			places = append(places, placesOf(r)...)
		}
	}
	places = append(places, samples...) // computed values take precedence over samples
	found := schemas.Provenance{Figures: []schemas.Figure{}}
	all := index(places)
	for _, f := range figuresOf(markdown.Plain(answer)) {
		if ctx.Err() != nil {
			break
		}
		found.Figures = append(found.Figures, trace(f, all, inputs))
	}
	return found
}

// trace returns the source of one figure.
func trace(f figure, places placeIndex, inputs []figure) schemas.Figure {
	traced := schemas.Figure{Text: f.text}
	if f.percent {
		traced.Text += "%"
	}
	switch at := slices.IndexFunc(places.all, func(p occurrence) bool { return f.says(p.value) }); {
	case at >= 0:
		traced.From, traced.Sources = schemas.FromValue, sources(places.all[at])
	case slices.ContainsFunc(inputs, f.equals):
		traced.From = schemas.FromQuestion
	case f.percent:
		traced.From, traced.Sources = schemas.FromShare, f.share(places)
	default:
		traced.From, traced.Sources = schemas.FromDifference, f.difference(places)
	}
	if traced.Sources == nil && traced.From != schemas.FromQuestion {
		traced.From, traced.Flagged = schemas.FromNowhere, true
	}
	return traced
}

func sources(places ...occurrence) []schemas.Source {
	var list []schemas.Source
	for _, p := range places {
		list = append(list, schemas.Source{ToolCallID: p.call, Pointer: p.pointer})
	}
	return list
}

// share returns a value and a total of the same metric of which it is f percent: both
// of one result, or the totals of two.
func (f figure) share(places placeIndex) []schemas.Source {
	for _, whole := range places.all {
		if !whole.total || whole.value == 0 {
			continue
		}
		for _, parts := range [][]occurrence{places.metrics[whole.of()], places.totals[whole.metric]} {
			for _, part := range parts {
				if f.is(part.value / whole.value * 100) {
					return sources(part, whole)
				}
			}
		}
	}
	return nil
}

// difference returns two values of one metric whose difference is f. A difference
// of zero counts only between a total and a group: the group is the whole.
func (f figure) difference(places placeIndex) []schemas.Source {
	for _, from := range places.all {
		if places.calls[from.call] > maxDifferences {
			continue
		}
		for _, less := range places.metrics[from.of()] {
			if f.is(from.value-less.value) &&
				(from.value > less.value || from.total && !less.total) {
				return sources(from, less)
			}
		}
	}
	return nil
}

// placesOf returns the numbers of a result, including those in its strings.
func placesOf(r result) []occurrence {
	var all []occurrence
	values := jsontext.NewDecoder(bytes.NewReader(r.answer))
	for {
		token, err := values.ReadToken()
		if err != nil { // the end
			return all
		}
		at := newPlace(r.call.ID, string(values.StackPointer()))
		switch token.Kind() {
		case jsontext.KindNumber:
			if at.value, err = token.Float(); err == nil {
				all = append(all, at)
			}
		case jsontext.KindString:
			for _, f := range figuresOf(token.String()) {
				for _, r := range f.readings {
					at.value = r.value
					all = append(all, at)
				}
			}
		}
	}
}
