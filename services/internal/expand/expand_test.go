package expand_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/schemas"
	"cairn/services/internal/expand"
	"cairn/services/internal/model"
)

// writer is a model with one answer.
type writer struct {
	model.Model
	answer string
}

func (w writer) Next(context.Context, model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		for word := range strings.SplitAfterSeq(w.answer, " ") {
			if !yield(model.Part{Text: word}, nil) {
				return
			}
		}
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, examples, answer string
		want                   []string
	}{
		{"a JSON array", ``, `["one", "two"]`, []string{"one", "two"}},
		{"a Markdown fence", ``, "```json\n[\"one\"]\n```", []string{"one"}},
		{"more than five", ``, `["a","b","c","d","e","f"]`, []string{"a", "b", "c", "d", "e"}},
		{"the queries of the author count", `1 2 3`, `["a","b","c"]`, []string{"a", "b"}},
		{"a query of the author is not repeated", `Free`, `[" FREE","a"]`, []string{"a"}},
		{"duplicates and empty queries", ``, `["a",""," a","A"]`, []string{"a"}},
		{"line breaks", ``, `["a\r\nb"]`, []string{"a b"}},
		{"a query of 201 characters", ``, `["` + strings.Repeat("ü", 201) + `","a"]`, []string{"a"}},
		{"other languages", ``, `["Wie voll ist das Array?"]`, []string{"Wie voll ist das Array?"}},
		{"no array", ``, `I cannot do that.`, nil},
		{"an array of numbers", ``, `[1,2]`, nil},
		{"an endless answer", ``, strings.Repeat("word ", 10_000), nil},
		{"five queries of the author", `1 2 3 4 5`, `["a"]`, nil},
	} {
		skill := schemas.Skill{SkillID: "disk.space", ExampleQueries: strings.Fields(row.examples)}
		got, err := expand.Queries(t.Context(), writer{answer: row.answer}, skill)
		if diff := cmp.Diff(row.want, got); diff != "" ||
			(err != nil) != (row.want == nil && len(skill.ExampleQueries) == 0) {
			t.Errorf("%s: %v, queries (-want +got):\n%s", row.name, err, diff)
		}
	}
}
