package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/schemas"
)

// reindex has the search index filled anew.
type reindex struct {
	client
	json bool
}

func reindexCommand() *cobra.Command {
	r := &reindex{}
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Fill a new search index from the catalog",
		Long: `Reindex begins to fill a new search index with all records of the catalog. Searches
go on in the old one, which it replaces when it is full; what is registered meanwhile
is found then. "cairn status" says how far it is.

Nobody has to call it after a change of the embedding model: that is noticed.
An index in memory needs it never.`,
		Example: "  cairn reindex && cairn status",
		Args:    wants("nothing more", 0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	r.flag(cmd)
	jsonFlag(cmd, &r.json)
	return cmd
}

func (r *reindex) run(ctx context.Context, out io.Writer) error {
	a, err := r.post(ctx, "/register/reindex", schemas.Nothing{})
	if errors.Is(err, schemas.ErrNotImplemented) {
		return r.say(out, []byte(`{"records":0}`), "there is nothing to reindex: the index is in memory, and made from the catalog at each start")
	}
	if err != nil {
		return err
	}
	var began struct {
		Generation string `json:"generation"`
		Records    uint64 `json:"records"`
	}
	if err := json.Unmarshal(a.body, &began); err != nil {
		return fmt.Errorf("%s answers what is no answer: %w", r.url, err)
	}
	return r.say(out, a.body, fmt.Sprintf("%d records are being written to the index %s; see cairn status", began.Records, began.Generation))
}

func (r *reindex) say(out io.Writer, answer jsontext.Value, sentence string) error {
	if r.json {
		return writeJSON(out, answer)
	}
	_, err := fmt.Fprintln(out, sentence)
	return err
}
