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

// renderTemplate prints the body of a template, or of that of the skill in args, with the values.
func renderTemplate(cmd *cobra.Command, r *resolveOptions, args []string) error {
	values, err := pairs(r.variables, false)
	if err != nil {
		return flags.Usage(fmt.Errorf("--var: %w", err))
	}
	answer, err := r.Client.Template(cmd.Context(), schemas.TemplateQuery{TemplateID: r.template,
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
