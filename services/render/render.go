// Package render is a rendering agent: it converts a finished analysis to text for
// readers, the answer and a table for each breakdown. It needs no model and changes no
// figure. A platform can configure its own agent instead.
package render

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/markdown"
)

// Serve registers the handlers of the service on s.
func Serve(s *bus.Service) error {
	return errors.Join(
		bus.Render.Serve(s, render),
		bus.ServeHealth(s, "render", health, nil),
	)
}

func health(context.Context) (schemas.Health, error) {
	return schemas.Health{Service: "render", Status: schemas.StatusOK, Version: bus.Version}, nil
}

// profile is the part of the reader's profile that affects rendering.
type profile struct {
	Language string `json:"language"` // BCP 47, such as de or pt-BR; empty: English
	Format   string `json:"format"`   // markdown (default) or plain
}

// render sends the answer and then each table.
func render(_ context.Context, r schemas.Rendering, sender bus.Sender) error {
	var p profile
	if len(r.Profile) > 0 {
		_ = json.Unmarshal(r.Profile, &p) // a profile of another form is ignored
	}
	shown := tablesFor(r, p)
	answer := prose(r.Answer, shown)
	if p.Format == "plain" {
		answer = markdown.Plain(answer)
	}
	texts := []string{answer}
	for _, t := range shown {
		texts = append(texts, "\n\n"+t.text)
	}
	for _, text := range texts {
		if err := send(sender, text); err != nil {
			return err
		}
	}
	return nil
}

// tablesFor returns the tables for the reader, without those already in the history.
func tablesFor(r schemas.Rendering, p profile) []table {
	if r.Mode == schemas.ModeBroad {
		return nil // broad answers are plain prose
	}
	tables := newest(tablesOf(r, newLocale(p.Language)))
	for i := range tables {
		tables[i].text = tables[i].markdown()
		if p.Format == "plain" {
			tables[i].text = tables[i].plain()
		}
	}
	return slices.DeleteFunc(tables, func(t table) bool { return r.Prompt.AnswerContains(t.text) })
}

func send(sender bus.Sender, text string) error {
	if text == "" {
		return nil
	}
	return sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: text})
}

// prose returns the answer without list items that repeat rows of the tables.
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

// without removes the items of a list that a table repeats. It keeps the whole list
// unless the list has all rows of the table: values of an unrelated list may match by
// chance.
func without(list []string, shown []table) []string {
	for _, t := range shown {
		rest := slices.DeleteFunc(slices.Clone(list), t.repeatsRow)
		if len(list)-len(rest) >= t.listed() {
			return rest
		}
	}
	return list
}
