// Package render is a rendering agent: it turns a finished analysis into what
// people read, the answer and a table for each breakdown. It needs no model and
// changes no figure; a platform with an agent of its own names that instead.
package render

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// Serve answers renderings, and the service's health, on s.
func Serve(s *bus.Service) error {
	return errors.Join(
		bus.Render.Serve(s, render),
		bus.Health("render").ServeBeside(s, health),
	)
}

func health(context.Context, schemas.Nothing) (schemas.Health, error) {
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
	t := tongueOf(p.Language)
	var tables []table
	if r.Mode != schemas.ModeBroad { // which is plain prose
		tables = newest(tablesOf(r))
	}
	if err := say(to, prose(r.Answer, tables)); err != nil {
		return err
	}
	for _, each := range tables {
		text := each.markdown(t)
		if p.Format == "plain" {
			text = each.plain(t)
		}
		if r.Prompt.Said(text) {
			continue // the reader has it
		}
		if err := say(to, "\n\n"+text); err != nil {
			return err
		}
	}
	return nil
}

func say(to bus.Sender, text string) error {
	if text == "" {
		return nil
	}
	return to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: text})
}

// prose is the answer without the items of lists that are rows of the tables.
func prose(answer string, tables []table) string {
	var kept []string
	for line := range strings.Lines(answer) {
		item, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
		label, _, valued := strings.Cut(item, ": ")
		if !listed || !valued || !inAny(tables, label) {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, ""), "\n ")
}

func inAny(tables []table, label string) bool {
	for _, t := range tables {
		if _, ok := t.row(label); ok {
			return true
		}
	}
	return false
}
