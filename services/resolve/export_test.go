package resolve

import (
	"context"
	"slices"

	"cairn/services/internal/index"
	"cairn/services/internal/scope"
)

// RankedAgents returns the ids of the agents for a query, best first.
func (r *Resolver) RankedAgents(ctx context.Context, query string) (ids []string, err error) {
	hits, _, err := searchAgents(ctx, r, scope.Global, index.Query{Text: query, TopK: agentDepth})
	for _, h := range ranked(hits, scope.Global, "") {
		if !slices.Contains(ids, h.node.ID) {
			ids = append(ids, h.node.ID)
		}
	}
	return ids, err
}
