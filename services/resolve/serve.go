package resolve

import (
	"context"
	"errors"

	"cairn/bus"
	"cairn/schemas"
)

// with returns a handler that calls handle with the resolver.
func with[Req, Res any](
	r *Resolver, handle func(context.Context, *Resolver, Req) (Res, error),
) func(context.Context, Req) (Res, error) {
	return func(ctx context.Context, req Req) (Res, error) { return handle(ctx, r, req) }
}

// Serve answers the resolve and listing endpoints and the service's health on s.
func Serve(s *bus.Service, r *Resolver) error {
	return errors.Join(
		bus.ResolveSkill.Serve(s, with(r, resolveSkill)),
		bus.ResolvePackage.Serve(s, with(r, resolvePackage)),
		bus.ResolveAgent.Serve(s, with(r, resolveAgent)),
		bus.ResolveContext.Serve(s, with(r, resolveContext)),
		bus.ResolveContextBuilders.Serve(s, with(r, resolveContext)),
		bus.ResolveTools.Serve(s, with(r, resolveTools)),
		bus.ResolveToolClass.Serve(s, with(r, resolveToolClass)),
		bus.ResolveTemplate.Serve(s, with(r, resolveTemplate)),
		bus.ResolveGuardrail.Serve(s, with(r, resolveGuardrail)),
		bus.ListSkills.Serve(s, with(r, listSkills)),
		bus.ListTools.Serve(s, with(r, listTools)),
		bus.ListRecords.Serve(s, with(r, listRecords)),
		bus.SearchRecords.Serve(s, with(r, searchRecords)),
		bus.GetRecord.Serve(s, with(r, getRecord)),
		bus.RecordHistory.Serve(s, with(r, recordHistory)),
		bus.ListAliases.Serve(s, with(r, recordAliases)),
		bus.Referrers.Serve(s, with(r, listReferrers)),
		bus.RecordUsage.Serve(s, with(r, recordUsage)),
		bus.ServeHealth(s, "resolve", r.health, r.confirm),
	)
}

// ServeWatch answers watches on s, which should serve nothing else: a watch holds its slot
// until it ends.
func ServeWatch(s *bus.Service, r *Resolver) error {
	return bus.Watch.Serve(s, func(ctx context.Context, req schemas.Watch, to bus.Sender) error {
		return watch(ctx, r, req, to)
	})
}
