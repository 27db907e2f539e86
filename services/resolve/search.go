package resolve

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/schemas/member"
	"cairn/services/internal/graph"
	"cairn/services/internal/index"
	"cairn/services/internal/scope"
)

// beyond is the number of additional hits to request, because an outdated index may
// return records that were removed or are no longer active.
const beyond = 10

// found is a hit with its record.
type found struct {
	node   graph.Node
	hit    index.Hit
	record []byte
}

func (r *Resolver) searchSkills(ctx context.Context, q schemas.SkillQuery) (*schemas.SkillHits, error) {
	hits, degraded, err := r.search(ctx, index.Query{
		Kind: schemas.KindSkill, Scope: scope.Scope(q.Tenant()), Text: q.Query, TopK: q.Limit(), By: index.Method(q.Search),
	})
	if err != nil {
		return nil, err
	}
	if len(hits) == 0 {
		return nil, notFound(schemas.ErrSkillNotFound, schemas.KindSkill, scope.Scope(q.Tenant()), degraded)
	}
	answer := &schemas.SkillHits{Degraded: degraded, Explained: explained(q.QueryOptions, hits)}
	for _, h := range hits {
		score := jsontext.Value(strconv.FormatFloat(h.hit.Score, 'f', -1, 64)) // without an exponent
		record, err := member.Prepend(h.record, member.Member{Name: "score", Value: score})
		if err != nil {
			return nil, fmt.Errorf("add the score to %s: %w", keyOf(h.node), err)
		}
		answer.Skills = append(answer.Skills, record)
	}
	return answer, nil
}

func (r *Resolver) agent(ctx context.Context, q schemas.AgentQuery) (schemas.AgentAnswer, error) {
	hits, degraded, err := r.search(ctx, index.Query{
		Kind: schemas.KindAgent, Scope: scope.Scope(q.Tenant()), Text: q.Query, TopK: 1, By: index.Method(q.Search),
	})
	if err != nil {
		return schemas.AgentAnswer{}, err
	}
	if len(hits) == 0 {
		return schemas.AgentAnswer{}, notFound(schemas.ErrAgentNotFound, schemas.KindAgent, scope.Scope(q.Tenant()), degraded)
	}
	best := hits[0]
	var a schemas.Agent
	if err := json.Unmarshal(best.record, &a); err != nil {
		return schemas.AgentAnswer{}, fmt.Errorf("read %s: %w", keyOf(best.node), err)
	}
	return schemas.AgentAnswer{
		AgentID:       best.node.ID,
		Capabilities:  a.Capabilities,
		OwnedSkillIDs: a.SkillIDs,
		Score:         best.hit.Score,
		Degraded:      degraded,
		Record:        best.record,
		Explained:     explained(q.QueryOptions, hits),
	}, nil
}

// search returns the hits with their records. It falls back to the global scope if
// none of the tenant's hits is active.
func (r *Resolver) search(ctx context.Context, q index.Query) (hits []found, degraded string, err error) {
	stuck, err := r.searchCurrent(ctx)
	if err != nil {
		return nil, "", err
	}
	wanted := q.TopK
	q.TopK += beyond
	result, err := r.ask(ctx, q)
	hits = r.active(q.Kind, result)
	if len(hits) == 0 && len(result.Hits) > 0 && result.Tenant != scope.Global {
		q.Scope = scope.Global
		result, err = r.ask(ctx, q)
		hits = r.active(q.Kind, result)
	}
	if errors.Is(err, index.ErrUnavailable) || errors.Is(err, index.ErrNoVectors) {
		return nil, "", schemas.ErrUnavailable.Because(err.Error())
	}
	if err != nil {
		return nil, "", fmt.Errorf("search %ss: %w", q.Kind, err)
	}
	if stuck && result.Degraded == "" {
		result.Degraded = schemas.IndexBehind
	}
	return hits[:min(wanted, len(hits))], result.Degraded, nil
}

// active returns the hits whose records are active.
func (r *Resolver) active(kind string, result index.Result) (hits []found) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, h := range result.Hits {
		n := graph.Node{Kind: kind, Tenant: result.Tenant, ID: h.ID}
		if k, ok := r.view.Get(keyOf(n)); ok && schemas.Active(k.facts.Value().status) {
			hits = append(hits, found{n, h, k.record})
		}
	}
	return hits
}

// notFound returns err for a search without hits. Its detail names a degradation,
// which may be the cause; it does not contain the query.
func notFound(err *schemas.Error, kind string, s scope.Scope, degraded string) error {
	detail := fmt.Sprintf("no active %s in %s matches the query", kind, s)
	if degraded != "" {
		detail = fmt.Sprintf("the search was degraded: %s; %s", degraded, detail)
	}
	return err.Because(detail)
}

func explained(who schemas.QueryOptions, hits []found) (e schemas.Explained) {
	if !who.Explain {
		return e
	}
	for _, h := range hits {
		reason := explain(h.node, "search")
		reason.TextRank, reason.VectorRank = h.hit.TextRank, h.hit.VectorRank
		e.Explain = append(e.Explain, reason)
	}
	return e
}
