package knowledge

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/schemas"
	"cairn/services"
)

func expandCommand() *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "expand FILE|DIRECTORY… --model URL",
		Short: "Write example queries for the skills of files with a language model",
		Long: `Expand lets a language model write example queries for each skill of JSON, YAML and JSON Lines
files that has fewer than five, and inserts them into the field example_queries of the
files; "cairn apply" registers them. The rest of a file is unchanged. Read the queries before
you apply them, and remove those that do not fit.`,
		Example: `  cairn expand knowledge/skills.yaml --model ollama://127.0.0.1:11434/qwen3:8b
  git diff knowledge && cairn apply knowledge`,
		Args: flags.Args("files or directories", 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := services.OpenExpander(cmd.Context(), model)
			if err != nil {
				return flags.Usage(err)
			}
			var errs []error
			for _, path := range args {
				files, err := records.Files(path)
				if err != nil {
					return flags.Usage(err)
				}
				for _, file := range files {
					failed, err := expandFile(cmd.Context(), e, file, cmd.OutOrStdout())
					if err != nil {
						return err
					}
					errs = append(errs, failed...)
				}
			}
			return report(cmd.ErrOrStderr(), errs)
		},
	}
	cmd.Flags().StringVar(&model, "model", "",
		"`URL` of the language model: ollama://host:11434/qwen3:8b or openai://host:8000/Qwen/Qwen3-8B")
	return cmd
}

// expandFile writes example queries into a file. It returns the errors of records; after another error it stops.
func expandFile(ctx context.Context, e services.Expander, file string, out io.Writer) (failed []error, err error) {
	data, list, err := records.ReadFile(file)
	if err != nil {
		return nil, flags.Usage(err)
	}
	for i, parsed := range list {
		r := parsed.Record("")
		err := r.Validate()
		if err == nil && r.Kind != schemas.KindSkill {
			continue
		}
		var queries []string
		if err == nil {
			queries, err = skillQueries(ctx, e, r)
		}
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
		if err == nil && len(queries) > 0 {
			var edited []byte
			if edited, err = records.InsertExamples(file, data, i, queries); err == nil {
				data, err = edited, os.WriteFile(file, edited, 0o666)
			}
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", parsed.Source, err))
			continue
		}
		output.Line(out, fmt.Sprintf("%s: %d queries", name(r.Kind, r.ID), len(queries)))
	}
	return failed, nil
}

func skillQueries(ctx context.Context, e services.Expander, r records.Record) ([]string, error) {
	var skill schemas.Skill
	if err := json.Unmarshal(r.JSON, &skill); err != nil {
		return nil, err
	}
	return e.Queries(ctx, skill)
}
