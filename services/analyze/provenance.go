package analyze

import (
	"bytes"
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

// provenance says of each figure of the answer from where it came: from a
// result as it stands there or rounded, from the question and the calls, or
// from two numbers of one result.
func provenance(answer, question string, results []result) schemas.Provenance {
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
	for _, f := range figuresOf(answer) {
		found.Figures = append(found.Figures, trace(f, places, asked))
	}
	return found
}

// trace finds where one figure came from.
func trace(f figure, places []place, asked []figure) schemas.Figure {
	said := schemas.Figure{Text: f.text}
	if f.percent {
		said.Text += "%"
	}
	switch at := slices.IndexFunc(places, func(p place) bool { return f.says(p.value) }); {
	case at >= 0:
		said.From, said.Sources = schemas.FromValue, sources(places[at])
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
func (f figure) share(places []place) []schemas.Source {
	for _, whole := range places {
		if !whole.total || whole.value == 0 {
			continue
		}
		for _, part := range places {
			if part.metric == whole.metric && (part.call == whole.call || part.total) && f.is(part.value/whole.value*100) {
				return sources(part, whole)
			}
		}
	}
	return nil
}

// difference is two numbers of one metric that differ by the figure. That two
// are equal says something of a total alone: all of it is there.
func (f figure) difference(places []place) []schemas.Source {
	numbers := map[string]int{}
	for _, p := range places {
		numbers[p.call]++
	}
	for _, from := range places {
		if numbers[from.call] > mostDifferences {
			continue
		}
		for _, less := range places {
			if less.call == from.call && less.metric == from.metric && f.is(from.value-less.value) &&
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
