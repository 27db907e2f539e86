package analyze

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// mostDifferences is how many numbers a result may have for a difference of two
// of them to mean anything: of many, some two always fit.
const mostDifferences = 100

// place is a number in a tool's result.
type place struct {
	value   float64
	call    string
	pointer string
	metric  string // pointer to the metric's groups and total
	total   bool
}

func newPlace(call, pointer string) place {
	p := place{call: call, pointer: pointer}
	metric, _, ofGroup := strings.Cut(pointer, "/groups/")
	if !ofGroup {
		metric, p.total = strings.CutSuffix(pointer, "/total")
	}
	p.metric = metric
	return p
}

// placeIndex is the places of all results.
type placeIndex struct {
	all     []place
	calls   map[string]int     // how many are of a call
	metrics map[string][]place // those of one metric of a call
	totals  map[string][]place // the totals of a metric, of all calls
}

func index(places []place) placeIndex {
	x := placeIndex{all: places, calls: map[string]int{}, metrics: map[string][]place{}, totals: map[string][]place{}}
	for _, p := range places {
		x.calls[p.call]++
		x.metrics[p.of()] = append(x.metrics[p.of()], p)
		if p.total {
			x.totals[p.metric] = append(x.totals[p.metric], p)
		}
	}
	return x
}

// of names the metric of the place's call.
func (p place) of() string { return p.call + " " + p.metric }

// provenance says of each figure of the answer from where it came: from a
// result as it stands there or rounded, from the question and the calls, or
// from two numbers of one result.
func provenance(ctx context.Context, answer, question string, results []result) schemas.Provenance {
	var places, samples []place
	asked := figuresOf(question)
	for _, r := range results {
		asked = append(asked, figuresOf(string(r.call.Input))...)
		if r.call.Name == inspectSchema {
			samples = append(samples, placesOf(r)...)
		} else {
			places = append(places, placesOf(r)...)
		}
	}
	places = append(places, samples...) // what was computed comes first
	found := schemas.Provenance{Figures: []schemas.Figure{}}
	all := index(places)
	for _, f := range figuresOf(answer) {
		if ctx.Err() != nil {
			break
		}
		found.Figures = append(found.Figures, trace(f, all, asked))
	}
	return found
}

// trace finds where one figure came from.
func trace(f figure, places placeIndex, asked []figure) schemas.Figure {
	said := schemas.Figure{Text: f.text}
	if f.percent {
		said.Text += "%"
	}
	switch at := slices.IndexFunc(places.all, func(p place) bool { return f.says(p.value) }); {
	case at >= 0:
		said.From, said.Sources = schemas.FromValue, sources(places.all[at])
	case slices.ContainsFunc(asked, f.equals):
		said.From = schemas.FromQuestion
	case f.percent:
		said.From, said.Sources = schemas.FromShare, f.share(places)
	default:
		said.From, said.Sources = schemas.FromDifference, f.difference(places)
	}
	if said.Sources == nil && said.From != schemas.FromQuestion {
		said.From, said.Flagged = schemas.FromNowhere, true
	}
	return said
}

func sources(places ...place) []schemas.Source {
	var list []schemas.Source
	for _, p := range places {
		list = append(list, schemas.Source{ToolCallID: p.call, Pointer: p.pointer})
	}
	return list
}

// share is a number and the total that the figure is the percentage of: of the
// same metric and result, or the total of another result.
func (f figure) share(places placeIndex) []schemas.Source {
	for _, whole := range places.all {
		if !whole.total || whole.value == 0 {
			continue
		}
		for _, parts := range [][]place{places.metrics[whole.of()], places.totals[whole.metric]} {
			for _, part := range parts {
				if f.is(part.value / whole.value * 100) {
					return sources(part, whole)
				}
			}
		}
	}
	return nil
}

// difference is two numbers of one metric that differ by the figure. That two
// are equal says something of a total alone: all of it is there.
func (f figure) difference(places placeIndex) []schemas.Source {
	for _, from := range places.all {
		if places.calls[from.call] > mostDifferences {
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

// placesOf are the numbers of a result: its values, and those in its texts.
func placesOf(r result) []place {
	var all []place
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
