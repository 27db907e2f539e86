package index

import (
	"context"
	"fmt"
	"strings"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"cairn/schemas"

	"golang.org/x/sync/errgroup"
)

// Check implements Migrator. While the circuit breaker is open the error includes
// the last failure.
func (e *elastic) Check(ctx context.Context) error {
	var health struct {
		Status string `json:"status"`
	}
	req := esapi.ClusterHealthRequest{Index: e.all(), FilterPath: []string{"status"}}
	if err := e.link.call(ctx, e.search, req, &health); err != nil {
		return fmt.Errorf("check elasticsearch: %w", err)
	}
	if health.Status == "red" {
		return fmt.Errorf("check elasticsearch: %w: indices without their data (red)", ErrUnavailable)
	}
	return nil
}

// Status implements Migrator.
func (e *elastic) Status(ctx context.Context) (Status, error) {
	there, err := e.listIndices(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("status of the index: %w", err)
	}
	s := Status{Live: there.live(e.settings), Documents: map[string]int{}}
	if space, err := e.space(ctx); err == nil {
		s.Fingerprint = there.newest(e.planFor(space)).suffix()
	}
	counts := make([]int, len(kinds))
	all, ctx := errgroup.WithContext(ctx) // concurrently: health checks are short
	for i, kind := range kinds {
		all.Go(func() (err error) {
			counts[i], err = e.count(ctx, kind)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return Status{}, fmt.Errorf("status of the index: %w", err)
	}
	for i, kind := range kinds {
		s.Documents[kind] = counts[i]
	}
	return s, nil
}

func (e *elastic) count(ctx context.Context, kind string) (int, error) {
	var answer struct {
		Count int `json:"count"`
	}
	ignore := true
	req := esapi.CountRequest{
		Index: []string{e.alias(kind)}, IgnoreUnavailable: &ignore,
		Body: strings.NewReader(`{"query":{"terms":{"status":["` + schemas.StatusActive + `","` + schemas.StatusDeprecated + `"]}}}`),
	}
	err := e.link.call(ctx, e.search, req, &answer)
	return answer.Count, err
}
