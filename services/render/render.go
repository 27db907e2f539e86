// Package render is a rendering agent: it turns a finished analysis into what
// people read, the answer and a table for each breakdown. It needs no model and
// changes no figure; a platform with an agent of its own names that instead.
package render

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// Serve answers renderings, and the service's health, on s.
func Serve(s *bus.Service) error {
	return errors.Join(
		bus.Render.Serve(s, render),
		bus.ServeHealth(s, "render", health),
	)
}

func health(context.Context) (schemas.Health, error) {
	return schemas.Health{Service: "render", Status: schemas.StatusOK, Version: bus.Version}, nil
}

// profile is what is known of who reads; what else is in it is of no concern.
type profile struct {
	Language string `json:"language"` // BCP 47, such as de or pt-BR; empty: English
	Format   string `json:"format"`   // markdown (default) or plain
}

// render sends the answer, and then each table.
func render(_ context.Context, r schemas.Rendering, to bus.Sender) error {
	var p profile
	if len(r.Profile) > 0 {
		_ = json.Unmarshal(r.Profile, &p) // one of another form says nothing
	}
	shown := tablesFor(r, p)
	texts := []string{prose(r.Answer, shown)}
	for _, t := range shown {
		texts = append(texts, "\n\n"+t.text)
	}
	for _, text := range texts {
		if err := say(to, text); err != nil {
			return err
		}
	}
	return nil
}

// tablesFor are the tables that the reader gets: none that they have.
func tablesFor(r schemas.Rendering, p profile) []table {
	if r.Mode == schemas.ModeBroad {
		return nil // which is plain prose
	}
	all := newest(tablesOf(r, tongueOf(p.Language)))
	for i := range all {
		all[i].text = all[i].markdown()
		if p.Format == "plain" {
			all[i].text = all[i].plain()
		}
	}
	return slices.DeleteFunc(all, func(t table) bool { return r.Prompt.Said(t.text) })
}

func say(to bus.Sender, text string) error {
	if text == "" {
		return nil
	}
	return to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: text})
}

// prose is the answer without the items of lists that are rows of the tables.
func prose(answer string, shown []table) string {
	var kept []string
	lines := slices.Collect(strings.Lines(answer))
	for len(lines) > 0 {
		n := 1
		for isItem(lines[0]) && n < len(lines) && isItem(lines[n]) {
			n++
		}
		kept = append(kept, without(lines[:n], shown)...)
		lines = lines[n:]
	}
	return strings.TrimRight(strings.Join(kept, ""), "\n ")
}

func isItem(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "- ") }

// without leaves out of a list what is in the table made of the same figures.
// A list that lacks some of a table's is about something else, though some may
// be equal by chance.
func without(list []string, shown []table) []string {
	for _, t := range shown {
		rest := slices.DeleteFunc(slices.Clone(list), t.holds)
		if len(list)-len(rest) >= t.listed() {
			return rest
		}
	}
	return list
}
