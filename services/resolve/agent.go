package resolve

import (
	"context"
	"fmt"
	"slices"

	"cairn/schemas"
	"cairn/services/internal/graph"
	"cairn/services/internal/index"
	"cairn/services/internal/scope"
)

// agentDepth is the number of agents, and of skills, whose scores are compared. With
// 20 skills, recall@5 among 70 agents with 527 skills is lower by 0.005.
const agentDepth = 50

// resolveAgent returns the best agent by its own text and by the best of its skills.
func resolveAgent(ctx context.Context, r *Resolver, q schemas.AgentQuery) (schemas.AgentAnswer, error) {
	s := scope.Scope(q.Tenant())
	hits, degraded, err := searchAgents(ctx, r, s, index.Query{
		Text: q.Query, TopK: agentDepth, By: index.Method(q.Search), Filter: filterOf(q.Filter),
	})
	if err != nil {
		return schemas.AgentAnswer{}, err
	}
	hits = ranked(hits, s, q.Scope)
	if len(hits) == 0 {
		return schemas.AgentAnswer{}, notFound(schemas.KindAgent, s, q.Filter, degraded)
	}
	best := hits[0]
	a, err := schemas.DecodeStored[schemas.Agent](schemas.KindAgent, best.record)
	if err != nil {
		return schemas.AgentAnswer{}, fmt.Errorf("read %s: %w", keyOf(best.node), err)
	}
	countFound(r, q.Tenant(), hits[:1])
	return schemas.AgentAnswer{
		AgentID:       best.node.ID,
		Capabilities:  a.Capabilities,
		OwnedSkillIDs: a.SkillIDs,
		Score:         best.hit.Score,
		Degraded:      degraded,
		Record:        best.record,
		Explained:     explanations(q.QueryOptions, hits[:1]),
	}, nil
}

// searchAgents returns the agents in scope that match by their own text, and the owners of the skills that
// match.
func searchAgents(ctx context.Context, r *Resolver, s scope.Scope,
	q index.Query) (hits []match, degraded string, err error) {
	q.Kind = schemas.KindAgent
	hits, degraded, err = searchScopes(ctx, r, s.Tenants(), q)
	if err != nil {
		return nil, "", err
	}
	q.Kind = schemas.KindSkill
	wanted := q.Filter
	q.Filter = index.Filter{} // it selects agents, not their skills
	skills, _, err := searchScopes(ctx, r, s.Tenants(), q)
	if err != nil {
		return nil, "", err
	}
	owners, err := ownersOf(ctx, r, s, skills)
	if err != nil {
		return nil, "", err
	}
	owners = slices.DeleteFunc(owners, func(h match) bool { return !h.matches(wanted) })
	return append(hits, owners...), degraded, nil
}

// ownersOf returns the found agents that own the skills, each with the hit of a skill.
func ownersOf(ctx context.Context, r *Resolver, s scope.Scope, skills []match) (hits []match, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	reader := r.reader
	for _, skill := range skills {
		for _, agent := range reader.Agents(ctx, s, skill.node) {
			if k, ok := r.view.Get(keyOf(agent.Node)); ok && schemas.Searchable(k.facts.Value().status) {
				hits = append(hits, match{agent.Node, skill.hit, k, graph.Skills})
			}
		}
	}
	return hits, reader.Err(ctx)
}
