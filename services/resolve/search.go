package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
	"cairn/schemas/member"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
	"cairn/services/internal/index"
	"cairn/services/internal/scope"
	"cairn/services/internal/usage"
)

// extraHits is the number of additional hits that a search requests, because an outdated
// index may return records that were removed or are inactive.
const extraHits = 10

// bySearch explains a record that matches the query itself.
const bySearch = "search"

// match is a hit with its record.
type match struct {
	node graph.Node
	hit  index.Hit
	storedRecord
	via string // how it was found
}

// matches reports whether the agent satisfies the filter.
func (h match) matches(f index.Filter) bool {
	properties := h.facts.Value()
	want := filter{domain: f.Domain, status: f.Status, labels: f.Labels, public: f.Public}
	if !want.matches(properties) || len(f.Capabilities) == 0 {
		return want.matches(properties)
	}
	a, err := schemas.DecodeStored[schemas.Agent](schemas.KindAgent, h.record)
	return err == nil && !slices.ContainsFunc(f.Capabilities, func(c string) bool {
		return !slices.Contains(a.Capabilities, c)
	})
}

func searchSkills(ctx context.Context, r *Resolver, q schemas.SkillQuery) (*schemas.SkillHits, error) {
	s := scope.Scope(q.Tenant())
	hits, degraded, err := searchScopes(ctx, r, s.Tenants(), index.Query{
		Kind: schemas.KindSkill, Text: q.Query, TopK: q.Limit(), By: index.Method(q.Search), Filter: filterOf(q.Filter),
	})
	if err != nil {
		return nil, err
	}
	hits = ranked(hits, s, q.Scope)
	hits = hits[:min(q.Limit(), len(hits))]
	if len(hits) == 0 {
		return nil, notFound(schemas.KindSkill, s, q.Filter, degraded)
	}
	answer := &schemas.SkillHits{Degraded: degraded, Explained: explanations(q.QueryOptions, hits)}
	size := 0
	for _, h := range hits {
		score := jsontext.Value(strconv.FormatFloat(h.hit.Score, 'f', -1, 64)) // without an exponent
		record, err := member.Prepend(h.summary(), member.Member{Name: "score", Value: score})
		if err != nil {
			return nil, fmt.Errorf("add the score to %s: %w", keyOf(h.node), err)
		}
		size += len(record)
		if err := bus.FitsReply(ctx, size); err != nil {
			return nil, err
		}
		answer.Skills = append(answer.Skills, record)
	}
	countFound(r, q.Tenant(), hits)
	return answer, nil
}

// countFound counts the hits of a response.
func countFound(r *Resolver, tenant string, hits []match) {
	keys := make([]catalog.Key, len(hits))
	for i, h := range hits {
		keys[i] = keyOf(h.node)
	}
	r.deps.Usage.Add(usage.NewUses(tenant, usage.Found, keys...))
}

func filterOf(f schemas.Filter) index.Filter {
	return index.Filter{
		Domain: f.Domain, Status: f.Status, Labels: schemas.LabelTerms(f.Labels), Capabilities: f.Capabilities,
		Public: f.Public,
	}
}

// relevantShare is the share of the score of the best global hit that a hit of the tenant needs to take
// precedence. With a random tenth of the evaluation skills in a tenant, a share of 0.6 finds 0.3 more of the global
// ones; edge/docs/retrieval.md has the figures.
const relevantShare = 0.6

// ranked returns the hits of a search by score: of both scopes if the request names them, else of the
// tenant if its best hit is relevant beside the global ones, else the global ones.
func ranked(hits []match, s scope.Scope, name string) []match {
	slices.SortStableFunc(hits, func(a, b match) int { return cmp.Compare(b.hit.Score, a.hit.Score) })
	first := slices.IndexFunc(hits, func(h match) bool { return h.node.Tenant == string(s) })
	if first < 0 || name == schemas.ScopeBoth {
		return hits
	}
	own := hits[first].hit.Score >= relevantShare*hits[0].hit.Score
	return slices.DeleteFunc(hits, func(h match) bool { return (h.node.Tenant == string(s)) != own })
}

// searchTenant returns the active hits of the query's tenant, with their records. A record of the first tenant in the
// scope shadows global ones with the same id.
func searchTenant(ctx context.Context, r *Resolver, s scope.Scope,
	q index.Query) (hits []match, degraded string, err error) {
	blocked, err := r.waitSearchable(ctx)
	if err != nil {
		return nil, "", err
	}
	topK := q.TopK
	q.TopK += extraHits
	result, err := r.query(ctx, q)
	if errors.Is(err, index.ErrUnavailable) || errors.Is(err, index.ErrNoVectors) {
		return nil, "", schemas.ErrUnavailable.Because(err.Error())
	}
	if err != nil {
		return nil, "", fmt.Errorf("search %ss: %w", q.Kind, err)
	}
	if blocked && result.Degraded == "" {
		result.Degraded = schemas.IndexBehind
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, h := range result.Hits {
		n := graph.Node{Kind: q.Kind, Tenant: q.Tenant, ID: h.ID}
		if visible, ok := r.reader.Find(q.Kind, s, h.ID); !ok || visible != n {
			continue
		}
		if k, _ := r.view.Get(keyOf(n)); schemas.Searchable(k.facts.Value().status) {
			hits = append(hits, match{n, h, k, bySearch})
		}
	}
	return hits[:min(topK, len(hits))], result.Degraded, nil
}

// notFound returns the error of a search for a skill or an agent without hits. Its detail names a degradation,
// which may be the cause; it does not contain the query.
func notFound(kind string, s scope.Scope, filter schemas.Filter, degraded string) error {
	detail := fmt.Sprintf("no active %s in %s matches the query", kind, s)
	if !filter.Empty() {
		detail += " and the filter"
	}
	if degraded != "" {
		detail = fmt.Sprintf("the search was degraded: %s; %s", degraded, detail)
	}
	if kind == schemas.KindAgent {
		return schemas.ErrAgentNotFound.Because(detail)
	}
	return schemas.ErrSkillNotFound.Because(detail)
}

func explanations(options schemas.QueryOptions, hits []match) (e schemas.Explained) {
	if !options.Explain {
		return e
	}
	for _, h := range hits {
		reason := explain(h.node, h.via)
		reason.TextRank, reason.VectorRank = h.hit.TextRank, h.hit.VectorRank
		e.Explain = append(e.Explain, reason)
	}
	return e
}
