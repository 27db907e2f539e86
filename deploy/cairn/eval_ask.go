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
		return nil, fmt.Errorf("%s: no query", file)
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
		return q, errors.New("want a query and at least one of skill_ids")
	}
	for _, id := range q.SkillIDs {
		if !known[id] {
			return q, fmt.Errorf("the corpus has no skill %s", id)
		}
		q.gold[id] = true
	}
	return q, nil
}

// verdict is what was answered to a query.
type verdict struct {
	ids      []string // best first
	took     time.Duration
	missing  bool // 404: nothing was found
	degraded bool
	err      error
}

// deepest is the last place that any figure looks at.
const deepest = 10

// ask asks all queries.
func (e *eval) ask(ctx context.Context, queries []judged, each func()) []verdict {
	verdicts := make([]verdict, len(queries))
	e.each(len(queries), e.atOnce, func(i int) error {
		if ctx.Err() == nil {
			verdicts[i] = e.find(ctx, queries[i].Query)
			each()
		}
		return nil
	})
	return verdicts
}

func (e *eval) find(ctx context.Context, query string) (v verdict) {
	top := deepest
	q := schemas.SkillQuery{Query: query, TopK: &top}
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
	v.degraded, v.err = said.Degraded != "", err
	return v
}
