package knowledge

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
)

// errDifferent is the error of a diff that has found differences.
var errDifferent = errors.New("records differ")

// diffOptions are the flags of cairn diff.
type diffOptions struct{ connection }

func diffCommand() *cobra.Command {
	d := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff FILE|DIRECTORY|-…",
		Short: "Compare records of files with the registered ones",
		Long: `Diff prints what "cairn apply" of the files would change, as a unified diff. The exit
code is 0 if nothing differs and 1 if records differ. After an error it is the code of the
error, such as 1 for an internal error of the server.`,
		Example: `  cairn diff deploy/examples/knowledge
  cairn diff skills.yaml --tenant acme
  cairn get skill storage.volume_capacity --revision $REVISION -o yaml | cairn diff -    # with an earlier revision`,
		Args: flags.Args("files or directories", 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := readRecords(args, cmd.InOrStdin(), d.tenant)
			if err != nil {
				return err
			}
			c, err := d.Client()
			if err != nil {
				return err
			}
			return d.run(cmd.Context(), c, list, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	d.flags(cmd, "default `TENANT` of records without tenant_id; empty: global scope")
	return cmd
}

// readRecords reads records. A record without a tenant gets the given one.
func readRecords(paths []string, stdin io.Reader, tenant string) ([]records.Record, error) {
	parsed, err := records.ReadAll(paths, stdin)
	if err != nil {
		return nil, flags.Usage(err)
	}
	list := make([]records.Record, len(parsed))
	for i, p := range parsed {
		list[i] = p.Record(tenant)
	}
	return list, nil
}

func indexes(list []records.Record) []int {
	all := make([]int, len(list))
	for i := range list {
		all[i] = i
	}
	return all
}

func (d *diffOptions) run(ctx context.Context, c *client.Client, list []records.Record, out, errOut io.Writer) error {
	bar := output.NewProgress(errOut, "comparing", len(list))
	differences := make([]difference, len(list))
	errs := make([]error, len(list))
	compareAll(ctx, c, list, indexes(list), func(i int, d difference, err error) {
		differences[i], errs[i] = d, err
		bar.Add(1)
	})
	bar.Close()
	different := false
	for i, r := range list {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", r.Source, errs[i])
			continue
		}
		text, err := unified("registered "+name(r.Kind, r.ID), r.Source+" "+name(r.Kind, r.ID), differences[i].stored,
			differences[i].wanted)
		if err != nil {
			return err
		}
		different = different || text != ""
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	if err := report(errOut, errs); err != nil || !different {
		return err
	}
	return output.Reported(errDifferent)
}
