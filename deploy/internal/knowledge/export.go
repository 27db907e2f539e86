package knowledge

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
	"cairn/schemas/skillfile"
)

// Values of --format.
const (
	formatRecords = "records"
	formatSkills  = "skills"
)

// exportOptions are the flags of cairn export.
type exportOptions struct {
	connection
	labels string
	output string
	format string
	dir    string
}

func exportCommand() *cobra.Command {
	e := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export [KIND…]",
		Short: "Print all records of a scope as files for apply, or write skills as SKILL.md",
		Long: `Export prints the records of the tenant, or the global ones without --tenant, with their
instructions and resources, ordered by kind and id. "cairn apply" of the output changes
nothing. A backup of all tenants with tags and API keys is "cairn backup".`,
		Example: `  cairn export > global.yaml
  cairn export skill,tool --tenant acme -o json > acme.json
  cairn export | cairn apply - --url other.example.com:443
  cairn export --format skills --dir skills --tenant acme`,
		Args: flags.Args("at most one list of kinds", 0, 1),
		ValidArgsFunction: func(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
			return records.CompleteKinds(begin)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds := schemas.Kinds()
			switch {
			case (e.format == formatSkills) != (e.dir != ""):
				return flags.UsageError(cmd, errors.New("--format skills and --dir must be used together"))
			case e.format == formatSkills && len(args) > 0:
				return flags.UsageError(cmd, errors.New("--format skills exports skills only; expected no kinds"))
			case e.format == formatSkills:
				kinds = []string{schemas.KindSkill}
			}
			if len(args) > 0 {
				var err error
				if kinds, err = parseKinds(args[0]); err != nil {
					return err
				}
			}
			return e.run(cmd, kinds)
		},
	}
	e.flags(cmd, "`TENANT` whose records are printed")
	cmd.Flags().StringVar(&e.labels, "labels", "",
		"only records with all of these `LABELS`, such as team=network,tier=gold")
	flags.Choice(cmd, &e.format, "format", "", "`FORMAT` of the export: records or skills", formatRecords, formatSkills)
	cmd.Flags().StringVar(&e.dir, "dir", "", "with --format skills: `DIRECTORY` to which the skills are written")
	flags.Output(cmd, &e.output, "yaml", "json")
	return cmd
}

func (e *exportOptions) run(cmd *cobra.Command, kinds []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	bar := output.NewProgress(cmd.ErrOrStderr(), "reading", -1)
	defer bar.Close()
	list, err := records.Scope{Tenant: e.tenant, Kinds: kinds, Labels: e.labels}.List(ctx, e.Client)
	if err != nil {
		return err
	}
	if err := records.ReadWhole(ctx, e.Client, list, bar.Add); err != nil {
		return err
	}
	if e.format == formatSkills {
		written, err := e.skills(ctx, list)
		bar.Close()
		output.Lines(cmd.ErrOrStderr(), omitted(list))
		total := ""
		if written < len(list) {
			total = fmt.Sprintf(" of %d", len(list))
		}
		output.Line(out, fmt.Sprintf("exported %d%s skills to %s", written, total, e.dir))
		return err
	}
	bar.Close()
	var texts []jsontext.Value
	for _, r := range list {
		if r.JSON != nil {
			texts = append(texts, r.JSON)
		}
	}
	return output.Values(out, e.output, texts, false)
}

// skills writes the skills to their directories, and returns how many it has written. A skill
// that cannot be written does not affect the others.
func (e *exportOptions) skills(ctx context.Context, list []client.Record) (written int, err error) {
	if err := os.MkdirAll(e.dir, 0o755); err != nil { // #nosec G301 -- files for everyone, as those of a repository
		return 0, err
	}
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }() // the files are closed
	packages := make([]skillPackage, len(list))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(records.MaxReads)
	for i, r := range list {
		group.Go(func() (err error) {
			packages[i], err = readPackage(groupCtx, e.Client, r)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	named := map[string]int{}
	for _, r := range list {
		named[skillfile.NameOf(r.ID, r.JSON)]++
	}
	seen := map[string]string{}
	var errs []error
	for i, r := range list {
		if r.JSON == nil {
			continue // deleted since
		}
		dir := skillfile.NameOf(r.ID, r.JSON)
		if named[dir] > 1 { // skills of several domains
			dir = skillfile.Name(r.ID)
		}
		if first := seen[dir]; first != "" {
			errs = append(errs, fmt.Errorf("skills %s and %s have the same name, %s", first, r.ID, dir))
			continue
		}
		seen[dir] = r.ID
		if err := writeSkill(root, dir, r, packages[i]); err != nil {
			errs = append(errs, fmt.Errorf("skill %s: %w", r.ID, err))
			continue
		}
		written++
	}
	return written, errors.Join(errs...)
}
