package operations

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/client"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// reindex rebuilds the search index.
type reindex struct {
	client.HTTP
	json bool
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
	flags.JSON(cmd, &r.json)
	return cmd
}

func (r *reindex) run(ctx context.Context, out io.Writer) error {
	a, err := r.Post(ctx, "/register/reindex", schemas.Nothing{})
	if errors.Is(err, schemas.ErrNotImplemented) {
		return r.say(out, []byte(`{"records":0}`), "nothing to reindex: the in-memory index is rebuilt from the catalog at startup")
	}
	if err != nil {
		return err
	}
	var began struct {
		Generation string `json:"generation"`
		Records    uint64 `json:"records"`
	}
	if err := json.Unmarshal(a.Body, &began); err != nil {
		return fmt.Errorf("invalid response from %s: %w", r.URL, err)
	}
	return r.say(out, a.Body, fmt.Sprintf("indexing %d records into %s; see cairn status", began.Records, began.Generation))
}

func (r *reindex) say(out io.Writer, answer jsontext.Value, sentence string) error {
	if r.json {
		return output.JSON(out, answer)
	}
	_, err := fmt.Fprintln(out, sentence)
	return err
}
