package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

// judged is a query, and the skills that are to be found for it.
type judged struct {
	Query    string   `json:"query"`
	SkillIDs []string `json:"skill_ids"`
	gold     map[string]bool
}

// readJudged reads the queries of a file, which ask for skills of the corpus.
func readJudged(file string, corpus []record) ([]judged, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, r := range corpus {
		known[r.ID] = true
	}
	var queries []judged
	for _, f := range readLines(file, data) {
		q, err := newJudged(f, known)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.source, err)
		}
		queries = append(queries, q)
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("%s: contains no queries", file)
	}
	return queries, nil
}

func newJudged(f found, known map[string]bool) (judged, error) {
	q := judged{gold: map[string]bool{}}
	if f.err != nil {
		return q, f.err
	}
	if err := json.Unmarshal(f.text, &q); err != nil {
		return q, err
	}
	if q.Query == "" || len(q.SkillIDs) == 0 {
		return q, errors.New("want query and at least one id in skill_ids")
	}
	for _, id := range q.SkillIDs {
		if !known[id] {
			return q, fmt.Errorf("skill %s is not in the corpus", id)
		}
		q.gold[id] = true
	}
	return q, nil
}

// verdict is what was answered to a query.
type verdict struct {
	ids      []string // best first
	took     time.Duration
	again    bool   // it is not the first answer
	missing  bool   // 404: nothing was found
	degraded string // what the answer lacks, such as text-only
	err      error
}

// short reports whether the answer may be better when it is asked for again.
func (v verdict) short() bool {
	return v.degraded != "" || errors.Is(v.err, schemas.ErrUnavailable)
}

const (
	// deepest is the last place that any figure looks at.
	deepest = 10
	// passes is how often each query is asked by measure.
	passes = 4
	// pause is how long who answered too little is left alone.
	pause = 500 * time.Millisecond
)

// measure asks all queries by each method. Before, they are asked once: then
// all that is embedded is kept, and no method pays for what others find done.
func (e *eval) measure(ctx context.Context, queries []judged, each func()) evaluation {
	by := func(search string) measured {
		return newMeasured(queries, e.ask(ctx, queries, search, each))
	}
	first := by(schemas.SearchHybrid)
	return evaluation{
		Queries: len(queries),
		First:   firsts{first.P50, first.P95, first.Short},
		Text:    by(schemas.SearchText),
		Vector:  by(schemas.SearchVector),
		Hybrid:  by(schemas.SearchHybrid),
	}
}

// ask asks all queries by a method of search.
func (e *eval) ask(ctx context.Context, queries []judged, search string, each func()) []verdict {
	verdicts := make([]verdict, len(queries))
	e.each(len(queries), e.atOnce, func(i int) error {
		if ctx.Err() == nil {
			verdicts[i] = e.find(ctx, queries[i].Query, search)
			each()
		}
		return nil
	})
	e.again(ctx, queries, search, verdicts)
	return verdicts
}

// again asks for what was answered with too little, one at a time: an embedder
// that was too busy gets to it, and keeps what it makes. It gives up when
// nothing has become better for a while.
func (e *eval) again(ctx context.Context, queries []judged, search string, verdicts []verdict) {
	better := time.Now()
	for left := short(verdicts); len(left) > 0; left = short(verdicts) {
		for _, i := range left {
			if ctx.Err() != nil || time.Since(better) >= e.retryTimeout {
				return
			}
			verdicts[i] = e.find(ctx, queries[i].Query, search)
			verdicts[i].again = true
			if !verdicts[i].short() {
				better = time.Now()
				continue
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// short are the places of the verdicts that may become better.
func short(verdicts []verdict) (left []int) {
	for i, v := range verdicts {
		if v.short() {
			left = append(left, i)
		}
	}
	return left
}

func (e *eval) find(ctx context.Context, query, search string) (v verdict) {
	top := deepest
	q := schemas.SkillQuery{Query: query, TopK: &top, Search: search}
	if e.tenant != "" {
		q.TenantID = &e.tenant
	}
	began := time.Now()
	a, err := e.post(ctx, "/resolve/skill", q)
	v.took = time.Since(began)
	if errors.Is(err, schemas.ErrSkillNotFound) {
		v.missing = true
		return v
	}
	var said struct {
		Skills []struct {
			ID string `json:"skill_id"`
		} `json:"skills"`
		Degraded string `json:"degraded"`
	}
	if err == nil {
		err = json.Unmarshal(a.body, &said)
	}
	for _, s := range said.Skills {
		v.ids = append(v.ids, s.ID)
	}
	v.degraded, v.err = said.Degraded, err
	return v
}
