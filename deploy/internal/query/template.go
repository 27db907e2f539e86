package query

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// rendering are the flags that render a template.
type rendering struct {
	template  string
	variables []string
}

// values returns the texts of the variables by name.
func (r rendering) values() (map[string]string, error) {
	values := map[string]string{}
	for _, text := range r.variables {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := values[name]; !ok || twice {
			return nil, flags.Usage(fmt.Errorf("--var %q: expected NAME=VALUE, each name once", text))
		}
		values[name] = value
	}
	return values, nil
}

// renderTemplate prints the body of a template, or of that of the skill in args, with the values.
func renderTemplate(cmd *cobra.Command, r *resolveOptions, args []string) error {
	texts, err := r.render.values()
	if err != nil {
		return err
	}
	q := schemas.TemplateQuery{TemplateID: r.render.template, SkillID: strings.Join(args, ""), QueryOptions: r.options()}
	answer, err := r.Client.Template(cmd.Context(), q)
	if err != nil {
		return err
	}
	var t schemas.Template
	if err := json.Unmarshal(answer.Template, &t); err != nil {
		return err
	}
	q.Variables = t.Values(texts)
	if answer, err = r.Client.Template(cmd.Context(), q); err != nil {
		return err
	}
	if r.output == "table" {
		text := strings.TrimSuffix(schemas.ValueOr(answer.Text, ""), "\n")
		_, err := io.WriteString(cmd.OutOrStdout(), output.Escaped(text)+"\n")
		return err
	}
	name := schemas.KindTemplate + "/" + t.TemplateID
	return output.Result{Value: answer, Names: []string{name}}.Print(cmd.OutOrStdout(), r.output)
}
