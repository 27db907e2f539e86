package operations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// reindexOptions are the flags of cairn reindex.
type reindexOptions struct {
	connect.HTTP
	output string
	wait   bool
}

func reindexCommand() *cobra.Command {
	r := &reindexOptions{}
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Rebuild the search index from the catalog",
		Long: `Reindex starts filling a new index generation with all records of the catalog.
Searches use the current generation until the new one has caught up. --wait waits for
it; "cairn status" shows the progress otherwise.

A change of the embedding model is detected automatically and needs no reindex. Nor
does the in-memory index, which is rebuilt at startup.`,
		Example: "  cairn reindex --wait\n  cairn reindex && cairn status",
		Args:    flags.Args("no arguments", 0, 0),
		RunE:    r.run,
	}
	r.Flags(cmd)
	cmd.Flags().BoolVar(&r.wait, "wait", false, "wait until searches use the new generation")
	connect.MessageFlag(cmd)
	flags.Text(cmd, &r.output)
	return cmd
}

func (r *reindexOptions) run(cmd *cobra.Command, _ []string) error {
	began, err := r.Client.Reindex(cmd.Context())
	sentence := fmt.Sprintf("indexing %d records into %s; see cairn status", began.Records, began.Generation)
	if errors.Is(err, schemas.ErrNotImplemented) {
		sentence, err = "nothing to reindex: the in-memory index is rebuilt from the catalog at startup", nil
	}
	if err == nil && r.wait && began.Records > 0 {
		sentence = fmt.Sprintf("indexed %d records into %s", began.Records, began.Generation)
		err = caughtUp(cmd.Context(), r.Client, int(min(began.Records, math.MaxInt32)), cmd.ErrOrStderr())
	}
	if err != nil {
		return err
	}
	return output.Result{Value: began, Table: func(t *output.Table) { t.Row(sentence) }}.Print(cmd.OutOrStdout(), r.output)
}

// caughtUpInterval is the interval at which caughtUp reads the health.
const caughtUpInterval = 500 * time.Millisecond

// caughtUp waits until the new index generation is searched and has all changes of the catalog. It
// returns the error of the health check after client.DefaultRetryTimeout without a response.
func caughtUp(ctx context.Context, c *client.Client, total int, errOut io.Writer) error {
	bar := output.NewProgress(errOut, "indexing", total)
	defer bar.Close()
	tick := time.NewTicker(caughtUpInterval)
	defer tick.Stop()
	for responded := time.Now(); ; {
		h, err := c.Health(ctx)
		if err == nil {
			responded = time.Now()
		} else if time.Since(responded) > client.DefaultRetryTimeout {
			return err
		}
		i := sharedIndex(h)
		if i != nil && i.Lag != nil {
			bar.Reach(max(0, total-int(min(*i.Lag, math.MaxInt32))), total)
			if *i.Lag == 0 && i.Live == i.Fingerprint {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// sharedIndex returns the state of the shared index; nil: unknown.
func sharedIndex(h schemas.Health) *schemas.IndexStatus {
	for _, s := range h.Services {
		if s.Index != nil {
			return s.Index
		}
	}
	return nil
}
