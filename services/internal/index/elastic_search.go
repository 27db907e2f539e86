package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// Search runs all lookups (words and vectors of each part, in tenant and global
// scope) in one request. A second request is needed only while a generation of
// another model is being filled.
func (e *elastic) Search(ctx context.Context, q Query) (Result, error) {
	result, err := e.find(ctx, q)
	if err != nil {
		return Result{}, fmt.Errorf("search %s documents: %w", q.Kind, err)
	}
	return result, nil
}

func (e *elastic) find(ctx context.Context, q Query) (Result, error) {
	if q.TopK < 1 || !slices.Contains(kinds, q.Kind) {
		return Result{}, ctx.Err()
	}
	question, err := newQuestion(ctx, e.embedder, q)
	if err != nil {
		return Result{}, err
	}
	r := &round{query: q, question: question}
	if question.space.Name != "" {
		r.family = e.planFor(e.embedder.Space()).family(q.Kind)
	}
	err = e.sendLookups(ctx, r)
	switch {
	case errors.Is(err, errIncomparable) && q.By == Vector:
		err = fmt.Errorf("%w: %w", ErrNoVectors, err)
	case errors.Is(err, errIncomparable):
		r = &round{query: q, question: wordsOf(q)}
		r.degraded = TextOnly
		err = e.sendLookups(ctx, r)
	}
	if err != nil {
		return Result{}, err
	}
	return r.result(), nil
}

// sendLookups sends the lookups of a round and stores the results. Searches are
// idempotent: one whose connection breaks is retried once.
func (e *elastic) sendLookups(ctx context.Context, r *round) error {
	lookups := r.lookups()
	if len(lookups) == 0 {
		return nil
	}
	body, err := encodeLookups(lookups)
	if err != nil {
		return err
	}
	var got answers
	err = e.sendSearch(ctx, r, body, &got)
	var broken *connectionError
	if errors.As(err, &broken) {
		err = e.sendSearch(ctx, r, body, &got)
	}
	if err != nil {
		return err
	}
	if len(got.Responses) != len(lookups) {
		return fmt.Errorf("%w: %d searches, %d answers", ErrUnavailable, len(lookups), len(got.Responses))
	}
	for i, l := range lookups {
		if err := r.note(l, got.Responses[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *elastic) sendSearch(ctx context.Context, r *round, body []byte, got *answers) error {
	req := esapi.MsearchRequest{
		Index: []string{e.alias(r.query.Kind)}, Body: bytes.NewReader(body), FilterPath: answered,
	}
	return e.link.call(ctx, e.search, req, got)
}

func encodeLookups(lookups []lookup) ([]byte, error) {
	var lines []any
	for _, l := range lookups {
		lines = append(lines, object{}, l.body)
	}
	return encode(lines...)
}

// answered is the response to one lookup.
var answered = []string{
	"responses.status", "responses.error.type", "responses.error.reason",
	"responses.hits.hits._index", "responses.hits.hits._score", "responses.hits.hits.fields",
}

// answers are the responses to the lookups, in order.
type answers struct {
	Responses []response `json:"responses"`
}

type response struct {
	Status int     `json:"status"`
	Error  failure `json:"error"`
	Hits   struct {
		Hits []struct {
			Index  string  `json:"_index"`
			Score  float64 `json:"_score"`
			Fields struct {
				ID []string `json:"id"`
			} `json:"fields"`
		} `json:"hits"`
	} `json:"hits"`
}

func (r response) matches(score func(float64) float64) []match {
	var found []match
	for _, h := range r.Hits.Hits {
		if s := score(h.Score); s > 0 && len(h.Fields.ID) == 1 {
			found = append(found, match{h.Fields.ID[0], s})
		}
	}
	return first(found)
}
