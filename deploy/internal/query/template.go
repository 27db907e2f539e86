package query

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// values returns the values of the variables by name, as strings.
func (r rendering) values() (map[string]jsontext.Value, error) {
	values := map[string]jsontext.Value{}
	for _, text := range r.variables {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := values[name]; !ok || name == "" || twice {
			return nil, flags.Usage(fmt.Errorf("--var %q: expected NAME=VALUE, each name once", text))
		}
		values[name], _ = jsontext.AppendQuote(nil, value) // replaces invalid UTF-8
	}
	return values, nil
}

// renderTemplate prints the body of a template, or of that of the skill in args, with the values.
func renderTemplate(cmd *cobra.Command, r *resolveOptions, args []string) error {
	values, err := r.render.values()
	if err != nil {
		return err
	}
	answer, err := r.Client.Template(cmd.Context(), schemas.TemplateQuery{TemplateID: r.render.template,
		SkillID: strings.Join(args, ""), Variables: values, QueryOptions: r.options()})
	if err != nil {
		return err
	}
	if r.output == "table" {
		text := strings.TrimSuffix(schemas.ValueOr(answer.Text, ""), "\n")
		_, err := io.WriteString(cmd.OutOrStdout(), output.Escaped(text)+"\n")
		return err
	}
	var t schemas.Template
	if err := json.Unmarshal(answer.Template, &t); err != nil {
		return err
	}
	name := schemas.KindTemplate + "/" + t.TemplateID
	return output.Result{Value: answer, Names: []string{name}}.Print(cmd.OutOrStdout(), r.output)
}
