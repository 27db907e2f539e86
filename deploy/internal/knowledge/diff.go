package knowledge

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
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
		Long: `Diff prints what "cairn apply" of the files would change, as a unified diff, with the
time, the actor and the message of the registered revision. The exit code is 0 if nothing
differs and 1 if records differ. After an error it is the code of the error, such as 1 for
an internal error of the server.`,
		Example: `  cairn diff deploy/examples/knowledge
  cairn diff skills.yaml --tenant acme
  cairn get skill storage.volume_capacity --revision $REVISION -o yaml | cairn diff -    # with an earlier revision`,
		Args: flags.Args("files or directories", 1, -1),
		RunE: d.run,
	}
	d.flags(cmd, "default `TENANT` of records without tenant_id")
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

func (d *diffOptions) run(cmd *cobra.Command, args []string) error {
	list, err := readRecords(args, cmd.InOrStdin(), d.tenant)
	if err != nil {
		return err
	}
	bar := output.NewProgress(cmd.ErrOrStderr(), "comparing", len(list))
	differences := make([]difference, len(list))
	errs := make([]error, len(list))
	records.Concurrently(len(list), func(i int) {
		differences[i], errs[i] = compare(cmd.Context(), d.Client, list[i])
		if differences[i].action == configured {
			differences[i].change, errs[i] = changeAt(cmd.Context(), d.Client, list[i].Key(), differences[i].token)
		}
		bar.Add(1)
	})
	bar.Close()
	different := false
	for i, r := range list {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", r.Source, errs[i])
			continue
		}
		result := differences[i]
		changed, err := result.print(cmd.OutOrStdout(), r)
		if err != nil {
			return err
		}
		different = different || changed
	}
	if err := report(cmd.ErrOrStderr(), errs); err != nil || !different {
		return err
	}
	return output.Reported(errDifferent)
}
