package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// judged is a query with its relevant skills.
type judged struct {
	Query    string   `json:"query"`
	SkillIDs []string `json:"skill_ids"`
	gold     map[string]bool
}

// readJudged reads the queries of a file and checks that their skills are in the corpus.
func readJudged(file string, corpus []records.Record) ([]judged, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, r := range corpus {
		ids[r.ID] = true
	}
	var queries []judged
	for _, f := range records.ReadLines(file, data) {
		q, err := newJudged(f, ids)
		if err != nil {
			return nil, flags.Usage(fmt.Errorf("%s: %w", f.Source, err))
		}
		queries = append(queries, q)
	}
	if len(queries) == 0 {
		return nil, flags.Usage(fmt.Errorf("%s: contains no queries", file))
	}
	return queries, nil
}

func newJudged(f records.ParsedRecord, ids map[string]bool) (judged, error) {
	q := judged{gold: map[string]bool{}}
	if f.Err != nil {
		return q, f.Err
	}
	if err := json.Unmarshal(f.Text, &q); err != nil {
		return q, err
	}
	if q.Query == "" || len(q.SkillIDs) == 0 {
		return q, errors.New("expected query and at least one id in skill_ids")
	}
	for _, id := range q.SkillIDs {
		if !ids[id] {
			return q, fmt.Errorf("skill %s is not in the corpus", id)
		}
		q.gold[id] = true
	}
	return q, nil
}

// verdict is the response to a query.
type verdict struct {
	ids      []string // best first
	latency  time.Duration
	retried  bool   // a retry
	missing  bool   // 404: no results
	degraded string // degradation of the response, such as text-only
	err      error
}

// short reports whether a retry may return a more complete response.
func (v verdict) short() bool {
	return v.degraded != "" || errors.Is(v.err, schemas.ErrUnavailable)
}

const (
	// maxRank is the highest rank that any metric uses.
	maxRank = 10
	// queryPasses is the number of times that measure runs each query.
	queryPasses = 4
	// retryInterval is the interval between retries.
	retryInterval = 500 * time.Millisecond
)

// searcher runs the queries of an evaluation.
type searcher struct {
	*client.Client
	tenant       string
	concurrency  int           // maximum number of concurrent searches
	retryTimeout time.Duration // of retries without progress
}

// measure runs all queries with each search method. A first pass fills the embedding
// cache, so that the latencies of the methods are comparable.
func (s *searcher) measure(ctx context.Context, queries []judged, each func()) evaluation {
	measureBy := func(search string) measured {
		return newMeasured(queries, s.searchAll(ctx, queries, search, each))
	}
	first := measureBy(schemas.SearchHybrid)
	return evaluation{
		Queries: len(queries),
		First:   coldLatencies{first.P50, first.P95, first.Short},
		Text:    measureBy(schemas.SearchText),
		Vector:  measureBy(schemas.SearchVector),
		Hybrid:  measureBy(schemas.SearchHybrid),
	}
}

// searchAll runs all queries with a search method and retries incomplete responses.
func (s *searcher) searchAll(ctx context.Context, queries []judged, search string, each func()) []verdict {
	verdicts := make([]verdict, len(queries))
	var searching errgroup.Group
	searching.SetLimit(s.concurrency)
	for i, q := range queries {
		searching.Go(func() error {
			if ctx.Err() == nil {
				verdicts[i] = s.find(ctx, q.Query, search)
				each()
			}
			return nil
		})
	}
	_ = searching.Wait() // a verdict has the error of its query
	s.retryDegraded(ctx, queries, search, verdicts)
	return verdicts
}

// retryDegraded retries queries with incomplete responses one at a time, which gives an
// overloaded embedding service time to fill its cache. It gives up after retryTimeout
// without progress.
func (s *searcher) retryDegraded(ctx context.Context, queries []judged, search string, verdicts []verdict) {
	better := time.Now()
	for left := short(verdicts); len(left) > 0; left = short(verdicts) {
		for _, i := range left {
			if ctx.Err() != nil || time.Since(better) >= s.retryTimeout {
				return
			}
			verdicts[i] = s.find(ctx, queries[i].Query, search)
			verdicts[i].retried = true
			if !verdicts[i].short() {
				better = time.Now()
				continue
			}
			select {
			case <-time.After(retryInterval):
			case <-ctx.Done():
			}
		}
	}
}

// short returns the indexes of the incomplete verdicts, which a retry may complete.
func short(verdicts []verdict) (left []int) {
	for i, v := range verdicts {
		if v.short() {
			left = append(left, i)
		}
	}
	return left
}

func (s *searcher) find(ctx context.Context, query, search string) (v verdict) {
	q := schemas.SkillQuery{Query: query, TopK: new(maxRank), Search: search}
	q.TenantID = schemas.Optional(s.tenant)
	began := time.Now()
	var response struct {
		Skills []struct {
			ID string `json:"skill_id"`
		} `json:"skills"`
		Degraded string `json:"degraded"`
	}
	err := s.Read(ctx, "/resolve/skill", q, &response)
	v.latency = time.Since(began)
	if errors.Is(err, schemas.ErrSkillNotFound) {
		v.missing = true
		return v
	}
	for _, s := range response.Skills {
		v.ids = append(v.ids, s.ID)
	}
	v.degraded, v.err = response.Degraded, err
	return v
}
