package operations

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// reindex rebuilds the search index.
type reindex struct {
	connect.HTTP
	output string
}

func reindexCommand() *cobra.Command {
	r := &reindex{}
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Rebuild the search index from the catalog",
		Long: `Reindex starts filling a new index generation with all records of the catalog.
Searches use the current generation until the new one has caught up. "cairn status"
shows the progress.

A change of the embedding model is detected automatically and needs no reindex. Nor
does the in-memory index, which is rebuilt at startup.`,
		Example: "  cairn reindex && cairn status",
		Args:    flags.Args("no arguments", 0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	r.Flags(cmd)
	flags.Text(cmd, &r.output)
	return cmd
}

func (r *reindex) run(ctx context.Context, out io.Writer) error {
	c, err := r.Client()
	if err != nil {
		return err
	}
	began, err := c.Reindex(ctx)
	sentence := fmt.Sprintf("indexing %d records into %s; see cairn status", began.Records, began.Generation)
	if errors.Is(err, schemas.ErrNotImplemented) {
		sentence, err = "nothing to reindex: the in-memory index is rebuilt from the catalog at startup", nil
	}
	switch {
	case err != nil:
		return err
	case r.output != flags.TextFormat:
		return records.PrintValue(out, r.output, began)
	}
	_, err = fmt.Fprintln(out, sentence)
	return err
}
