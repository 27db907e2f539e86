// Package expand writes example queries for skills with a language model, so that searches also
// match words that the author did not use (Re-Invoke, Chen et al. 2024; Tool2Vec, Moon et al. 2024).
package expand

import (
	"context"
	_ "embed" // the prompt
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
	"cairn/services/internal/model"
)

const (
	// MaxQueries is the maximum number of example queries of a skill with generated ones.
	MaxQueries = 5
	// maxQuery is the maximum length of a generated query in characters.
	maxQuery = 200
	// maxAnswer is the maximum length of the model's answer in bytes.
	maxAnswer = 16 << 10
	// maxInstructions is the length in bytes of the instructions that the model reads.
	maxInstructions = 2 << 10
	// modelTimeout bounds a request to the model.
	modelTimeout = time.Minute
)

//go:embed prompt.md
var prompt string

// Queries returns example queries for a skill in addition to its own, up to MaxQueries in all.
func Queries(ctx context.Context, m model.Model, skill schemas.Skill) ([]string, error) {
	limit := MaxQueries - len(skill.ExampleQueries)
	if limit <= 0 {
		return nil, nil
	}
	answer, err := request(ctx, m, description(skill))
	if err != nil {
		return nil, err
	}
	queries, err := parse(answer, skill.ExampleQueries)
	return queries[:min(limit, len(queries))], err
}

// request returns the model's answer.
func request(ctx context.Context, m model.Model, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	var answer strings.Builder
	for part, err := range m.Next(ctx, model.Conversation{
		Rules: prompt, Messages: []model.Message{{Role: model.User, Text: text}},
	}) {
		if err != nil {
			return "", err
		}
		if answer.WriteString(part.Text); answer.Len() > maxAnswer {
			return "", fmt.Errorf("the answer of the model is longer than %d bytes", maxAnswer)
		}
	}
	return answer.String(), nil
}

// description returns the text of a skill that the model reads.
func description(s schemas.Skill) string {
	var b strings.Builder
	for _, line := range []struct{ name, text string }{
		{"Name", s.DisplayName},
		{"Purpose", s.Purpose},
		{"Description", s.Description},
		{"Capabilities", strings.Join(s.Capabilities, ", ")},
		{"Instructions", strings.ToValidUTF8(s.Instructions[:min(len(s.Instructions), maxInstructions)], "")},
		{"Queries of the author, not to be repeated", strings.Join(s.ExampleQueries, "; ")},
	} {
		if line.text != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.name, line.text)
		}
	}
	if b.Len() == 0 {
		return "Name: " + s.SkillID
	}
	return b.String()
}

// parse returns the distinct queries of an answer that are not in ownQueries. Text around the
// JSON array, such as a Markdown fence, is ignored.
func parse(answer string, ownQueries []string) ([]string, error) {
	first, last := strings.IndexByte(answer, '['), strings.LastIndexByte(answer, ']')
	var list []string
	if first < 0 || last < first || json.Unmarshal([]byte(answer[first:last+1]), &list) != nil {
		return nil, fmt.Errorf("no JSON array of strings in the model's answer: %.100q", answer)
	}
	var queries []string
	for _, query := range list {
		query = strings.Join(strings.Fields(query), " ")
		same := func(other string) bool { return strings.EqualFold(query, other) }
		if query == "" || utf8.RuneCountInString(query) > maxQuery ||
			slices.ContainsFunc(ownQueries, same) || slices.ContainsFunc(queries, same) {
			continue
		}
		queries = append(queries, query)
	}
	if len(queries) == 0 {
		return nil, errors.New("the model wrote no usable query")
	}
	return queries, nil
}
